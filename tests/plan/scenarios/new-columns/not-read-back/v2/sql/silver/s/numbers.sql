/*
Numbered amounts: one row per amount.

materialized: append
*/
with a as (
    select id, x, _arrival from stream silver.a
),
before as (
    select max(n) as n from silver.numbers
)
select
    a.id,
    coalesce(before.n, 0) + row_number() over (order by a._arrival) as n,
    a.x > 3 as big, a.x as old,
    a._arrival
from a
cross join before
