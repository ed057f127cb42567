/*
All bodies of an id: one row per id.

materialized: upsert
unique_key: id
*/
with a as (
    select key as id, to_json(data) as body, _arrival from stream bronze.a
),
before as (
    select id, body from gold.whole
)
select a.id, greatest(before.body, max(a.body) over (partition by a.id order by a._arrival)) as body, a._arrival
from a
left join before on a.id = before.id
