/*
Answers in ten minutes: one row per window.

materialized: append
*/
with a as (
    select id, x, at from stream silver.a watermark at delay of interval 1 minute
),
b as (
    select id, x, at from stream silver.b watermark at delay of interval 1 minute
),
pairs as (
    select a.x, b.x as other, a.at
    from a
    join b
        on a.id = b.id
        and b.at between a.at and a.at + interval 10 minutes
),
counted as (
    select window(at, '10 minutes') as ten, count(*) as n, sum(x + other) as total
    from pairs
    group by window(at, '10 minutes')
)
select ten.start as window_start, n, total from counted
