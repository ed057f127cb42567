/*
Amounts with their names: one row per record.

materialized: append
*/
select id, struct(k as name, x as Amount) as told, _arrival
from stream silver.a
