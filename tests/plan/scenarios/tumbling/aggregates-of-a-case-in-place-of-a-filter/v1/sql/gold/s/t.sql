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
        count_if(y > 2) as n,
        sum(x) filter (where y > 2) as total,
        min(x) filter (where y > 2) as low,
        max(if(y > 2, x, null)) as high
    from a
    group by k, window(at, '10 minutes')
),
final as (
    select k, ten.start as window_start, n, total, low, high
    from counted
    where n > 0
)
select * from final
