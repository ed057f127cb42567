/*
Running sums of rates: one row per id.

materialized: upsert
unique_key: id
*/
with a as (
    select id, rate, _arrival from stream gold.named
),
before as (
    select id, total from silver.sums
)
select
    a.id,
    coalesce(before.total, 0) + sum(a.rate) over (partition by a.id order by a._arrival) as total,
    a._arrival
from a
left join before on a.id = before.id
