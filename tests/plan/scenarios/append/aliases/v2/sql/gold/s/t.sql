/*
Amounts that count: one row per amount.

materialized: append
*/
with a as (
    select a1.id, a1.x, a1.y, a1._arrival from stream silver.a as a1
),
kept as (
    select id, x, y, x > 3 as big, twice(x) as doubled, _arrival
    from a
    where x > :least and y is not null
)
select * from kept
