/*
Amounts: one row per amount.

materialized: append
on_error: dead_letter
*/
with a as (
    select id, x, y, _arrival from stream silver.a
)
select id, x, _arrival from a where x - y > 0 or y = 4
