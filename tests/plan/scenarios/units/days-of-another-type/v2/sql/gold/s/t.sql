/*
Amounts: one row per amount.

materialized: append
*/
with a as (
    select id, at, _arrival from stream silver.a
)
select id, datediff(day, at - interval 1 day, at) as days, _arrival from a
