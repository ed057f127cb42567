/*
Amounts: one row per amount.

materialized: append
query: s
allow: {cut-dependent: each batch is compared with those before it}
*/
with newest as (
    select id, x from silver.newest
),
a as (
    select id, x, _arrival from stream silver.a
)
select a.id, a.x, a.x > coalesce(newest.x, 0) as rises, a._arrival
from a
left join newest on a.id = newest.id
