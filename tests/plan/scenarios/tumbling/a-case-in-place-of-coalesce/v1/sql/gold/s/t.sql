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
        coalesce(k, '') as k,
        window(at, '10 minutes') as ten,
        count(*) as n,
        sum(x) as total,
        min(x) as low,
        max(x) as high
    from a
    group by coalesce(k, ''), window(at, '10 minutes')
),
final as (
    select k, ten.start as window_start, n, total, low, high
    from counted
    where n > 0
)
select * from final
