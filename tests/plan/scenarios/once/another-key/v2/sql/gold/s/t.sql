/*
First amounts: one row per id, for ever.

materialized: append
once_per: [id, x]
*/
with a as (
    select id, x, y, _arrival from stream silver.a
),
kept as (
    select id, x, y, _arrival from a where x > 3
)
select * from kept
