/*
Amounts beside what there is: one row per amount.

materialized: append
columns: {many: bigint}
*/
select id, (select count(*) from silver.rates) as many, _arrival
from stream silver.a
where exists (select 1 from silver.rates)
