/*
Amounts with the newest answer before their batch: one row per amount.

materialized: append
query: s
allow: {cut-dependent: an answer counts from the next batch on}
*/
with a as (
    select id, x, _arrival from stream silver.a
),
m as (
    select id, y from silver.m
),
named as (
    select a.id, a.x, m.y as name, a._arrival
    from a
    join m on a.id = m.id
)
select * from named
