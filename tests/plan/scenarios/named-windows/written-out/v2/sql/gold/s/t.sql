/*
Amounts: one row per amount.

materialized: append
allow: {cut-dependent: each batch is summed up by itself}
*/
with a as (
    select id, k, x, _arrival from stream silver.a
)
select id, sum(x) over (other) as total, _arrival from a
window other as (partition by id)
