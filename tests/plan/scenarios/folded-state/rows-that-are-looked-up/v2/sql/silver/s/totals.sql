/*
Running totals: one row per id.

materialized: upsert
unique_key: id
*/
with a as (
    select id, k, x, _arrival from stream silver.a
),
r as (
    select k, rate from silver.rates
),
before as (
    select id, total from silver.totals
),
summed as (
    select
        a.id,
        coalesce(before.total, 0)
        + sum(a.x * coalesce(r.rate, 1)) over (partition by a.id order by a._arrival) as total,
        a._arrival
    from a
    left join before on a.id = before.id
    left join r on a.k = r.k
)
select * from summed
