/*
First amounts: one row per id, for ever.

materialized: append
once_per: id
*/
with a as (
    select id, x, y, _arrival from stream silver.a
),
kept as (
    select id, x, y, _arrival from a where x > 1
)
select * from kept
