/*
Amounts beside the newest one of before: one row per amount.

materialized: append
*/
with a as (
    select id, x, _arrival from stream silver.a
),
current as (
    select id, x from silver.current
)
select a.id, a.x, current.x as known, a._arrival
from a
left join current on a.id = current.id
