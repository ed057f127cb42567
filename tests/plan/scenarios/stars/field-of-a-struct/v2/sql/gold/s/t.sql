/*
Amounts: one row per amount.

materialized: append
*/
with a as (
    select id, struct(x + 2 as more) as made, _arrival from stream silver.a
)
select id, made.*, _arrival from a
