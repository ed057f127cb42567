/*
Amounts and answers in ten minutes: one row per k per window.

materialized: append
*/
with a as (
    select k, x, at from stream silver.a watermark at delay of interval 1 minute
),
united as (
    select k, x, at from a
),
counted as (
    select k, window(at, '10 minutes') as ten, count(*) as n, sum(x) as total
    from united
    group by k, window(at, '10 minutes')
)
select k, ten.start as window_start, n, total from counted
