/*
Bits: one row per amount.

materialized: append
*/
with a as (
    select id, k, x, y, _arrival from stream silver.a
)
select id, (x | y) & 1 as bits, _arrival from a
