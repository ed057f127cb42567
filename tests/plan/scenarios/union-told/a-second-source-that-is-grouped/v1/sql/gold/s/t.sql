/*
Amounts: one row per record.

materialized: append
run: streaming
*/
with united as (
    select k, x from stream silver.a
)
select k, x from united
