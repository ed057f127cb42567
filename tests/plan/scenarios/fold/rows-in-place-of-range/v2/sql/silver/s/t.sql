/*
Running totals: one row per id.

materialized: upsert
unique_key: id
close_when: total >= 15
*/
with a as (
    select id, x, y, _arrival from stream silver.a where x > 1
),
before as (
    select id, total, n from silver.t
),
summed as (
    select
        a.id,
        coalesce(before.total, 0) + sum(a.x) over (
            partition by a.id order by a._arrival rows unbounded preceding
        ) as total,
        coalesce(before.n, 0) + count(*) over (
            partition by a.id order by a._arrival
            rows between unbounded preceding and current row
        ) as n,
        a.y as last_y,
        a._arrival
    from a
    left join before on a.id = before.id
)
select * from summed
