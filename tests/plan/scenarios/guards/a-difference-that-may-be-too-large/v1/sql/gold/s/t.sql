/*
Amounts: one row per amount.

materialized: append
on_error: dead_letter
*/
with a as (
    select id, x, y, _arrival from stream silver.a
)
select id, x, _arrival from a where y = 4 or x - y > 0
