/*
Amounts: one row per amount.

materialized: append
*/
with a as (
    select id, at, _arrival from stream silver.a
)
select id, datediff(at, at - interval 1 day) as days, _arrival from a
