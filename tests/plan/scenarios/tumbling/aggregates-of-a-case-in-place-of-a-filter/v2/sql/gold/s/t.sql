/*
Amounts in ten minutes: one row per k per window.

materialized: append
*/
with a as (
    select k, x, y, at
    from stream silver.a watermark at delay of interval 1 minute
    where x > 0
),
counted as (
    select
        k,
        window(at, '10 minutes') as ten,
        count(case when y > 2 then 1 end) as n,
        sum(case when y > 2 then x end) as total,
        min(case when y > 2 then x end) as low,
        max(x) filter (where y > 2) as high
    from a
    group by k, window(at, '10 minutes')
),
final as (
    select k, ten.start as window_start, n, total, low, high
    from counted
    where n > 0
)
select * from final
