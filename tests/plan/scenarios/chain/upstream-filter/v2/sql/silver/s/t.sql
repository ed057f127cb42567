/*
Running totals: one row per id.

materialized: upsert
unique_key: id
query: s
*/
with m as (
    select id, x, _arrival from stream silver.m
),
before as (
    select id, total from silver.t
),
summed as (
    select
        m.id,
        coalesce(before.total, 0)
        + sum(m.x) over (partition by m.id order by m._arrival) as total,
        m._arrival
    from m
    left join before on m.id = before.id
)
select * from summed
