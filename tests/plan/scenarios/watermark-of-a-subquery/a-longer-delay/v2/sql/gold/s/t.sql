/*
Amounts in ten minutes: one row per k per window.

materialized: append
*/
with a as (
    select k, at
    from (select k, at from stream silver.a) watermark at delay of interval 40 minutes as a
),
counted as (
    select k, window(at, '10 minutes') as ten, count(*) as n
    from a
    group by k, window(at, '10 minutes')
)
select k, ten.start as window_start, n from counted
