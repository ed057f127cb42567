/*
Amounts: one row per amount.

materialized: append
*/
with a as (
    select id, x, y, _arrival from stream silver.a
)
select id, exists(array(x), z -> y > 3) as v, _arrival from a
