/*
Amounts as JSON: one row per amount.

materialized: append
*/
with a as (
    select id, x, _arrival from stream silver.a
),
told as (
    select id, struct(x as Amount) as info, _arrival from a
)
select id, to_json(struct(info['Amount'] as col1)) as told, _arrival from told
