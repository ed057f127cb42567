/*
Amounts that count: one row per amount.

materialized: append
*/
with a as (
    select id, x, y, _arrival from stream silver.a
),
kept as (
    select id, x, y, x > 3 as big, twice(x) as doubled, _arrival
    from a
    where x > :least and y is not null
)
select * from kept
