/*
Amounts: one row per record.

materialized: append
run: streaming
*/
with united as (
    select k, x from stream silver.a
    union all
    select k, x * 2 from stream silver.b where x > 3
)
select k, x from united
