/*
Newest times: one row per k.

materialized: upsert
unique_key: k
*/
with a as (
    select data.k as k, event_time as at, _arrival from stream bronze.a
),
before as (
    select k, at from gold.newest
)
select a.k, greatest(before.at, max(a.at) over (partition by a.k order by a._arrival)) as at, a._arrival
from a
left join before on a.k = before.k
