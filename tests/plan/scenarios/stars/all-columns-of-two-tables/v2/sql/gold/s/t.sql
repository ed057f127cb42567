/*
Amounts: one row per amount.

materialized: append
*/
with a as (
    select id, x, k, _arrival from stream silver.a
),
b as (
    select data.k, data.y from bronze.b
)
select a.*, b.y from a join b on a.k = b.k
