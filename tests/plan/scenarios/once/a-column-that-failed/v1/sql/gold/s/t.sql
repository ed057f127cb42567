/*
First amounts: one row per id, for ever.

materialized: append
once_per: id
on_error: dead_letter
*/
with a as (
    select id, k, _arrival from stream silver.a
),
kept as (
    select
        id, cast(if(k = 'q', 'none', '1') as bigint) as v, _arrival
    from a
)
select * from kept
