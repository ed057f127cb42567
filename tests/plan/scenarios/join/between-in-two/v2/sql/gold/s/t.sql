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
        and b.at >= a.at
            and b.at <= a.at + interval 600 seconds
)
select * from pairs
