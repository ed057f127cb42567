/*
Visits of a page in a minute, for Spark's streaming engine: one row per page per minute, once the minute is final.

materialized: append
*/
with visits as (
    select page, visited_at
    from stream silver.visits watermark visited_at delay of interval 1 second
),
per_minute as (
    select page, window(visited_at, '1 minute') as minute, count(*) as visit_count
    from visits
    group by page, window(visited_at, '1 minute')
)
select page, minute.start as window_start, visit_count from per_minute
