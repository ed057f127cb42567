/*
Amounts that count: one row per amount.

materialized: append
*/
with a as (
    SELECT ID, X, y, _arrival FROM STREAM silver.a -- all
),
kept as (
    select id, x, y, x > 3 as big, twice(x) as doubled, _arrival
    from a
    where x > :least and y is not null
)
select * from kept
