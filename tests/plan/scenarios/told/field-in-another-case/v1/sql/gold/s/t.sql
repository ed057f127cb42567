/*
Amounts as JSON: one row per amount.

materialized: append
*/
with a as (
    select id, x, y, _arrival from stream silver.a
),
told as (
    select id, x + 1 as more, _arrival from a
)
select id, to_json(struct(*)) as told, _arrival from told
