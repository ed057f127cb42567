/*
Amounts: one row per amount.

materialized: append
*/
with b as (
    select id, _arrival from stream silver.b
),
w as (
    select id, x from silver.w
)
select b.id, w.x, b._arrival from b left join w on b.id = w.id
