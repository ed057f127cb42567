/*
Amounts: one row per amount.

materialized: append
*/
with a as (
    select id, struct(x, y) as made, x, y, _arrival from stream silver.a
),
b as (
    select * except (made.x) from a
)
select id, to_json(made) as v, _arrival from b
