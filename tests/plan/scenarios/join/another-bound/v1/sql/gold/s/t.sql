/*
Amounts and their answers: one row per pair.

materialized: append
*/
with a as (
    select id, k, x, y, at from stream silver.a watermark at delay of interval 1 minute
),
b as (
    select id, k, x, y, at from stream silver.b watermark at delay of interval 1 minute
),
pairs as (
    select a.id, a.x, b.x as other
    from a
    join b
        on a.id = b.id
        and b.at between a.at and a.at + interval 10 minutes
)
select * from pairs
