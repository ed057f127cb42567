/*
Amounts: one row per amount.

materialized: append
*/
with a as (
    select id, x, y, _arrival from stream silver.a
)
select id, less(v => x, w => y) as v, _arrival from a
