/*
Smallest and largest amount in ten minutes: one row per k per window.

materialized: append
*/
with a as (
    select k, x, y, at from stream silver.a watermark at delay of interval 1 minute
),
counted as (
    select k, window(at, '10 minutes') as ten, min(x) as low, max(x) as high
    from a
    group by k, window(at, '10 minutes')
)
select k, ten.start as window_start, high - 1 as low, low + 1 as high from counted
