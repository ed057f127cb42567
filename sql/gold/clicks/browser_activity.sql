/*
Views of a browser in five seconds, every two seconds: one row per browser and window, changed by each view in it.

materialized: upsert
unique_key: [browser_hash, window_start]
output_mode: update
*/
with views as (
    select browser_hash, viewed_at
    from stream silver.views watermark viewed_at delay of interval 1 minute
),
counted as (
    select
        browser_hash,
        window(viewed_at, '5 seconds', '2 seconds') as five_seconds,
        count(*) as view_count
    from views
    group by browser_hash, window(viewed_at, '5 seconds', '2 seconds')
),
activity as (
    select
        browser_hash,
        five_seconds.start as window_start,
        five_seconds.end as window_end,
        view_count
    from counted
)
select * from activity
