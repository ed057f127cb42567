/*
Amounts of ids that no batch before had: one row per amount.

materialized: append
allow: {cut-dependent: all rows of the first batch of an id are wanted}
*/
with a as (
    select id, x, _arrival from stream silver.a where x > 3
),
fresh as (
    select id, x, _arrival
    from a
    where not exists (select 1 from gold.t as seen where seen.id = a.id)
)
select * from fresh
