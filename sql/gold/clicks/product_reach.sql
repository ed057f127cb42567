/*
Browsers that viewed a product in fifteen seconds: one row per product and window, once the window is final.

materialized: append
*/
with views as (
    select product_id, browser_hash, viewed_at
    from stream silver.views watermark viewed_at delay of interval 1 minute
),
pairs as (
    select
        product_id, browser_hash, window(viewed_at, '5 seconds') as five_seconds
    from views
    group by product_id, browser_hash, window(viewed_at, '5 seconds')
),
browsers as (
    -- a browser in two of the short windows is one browser of the long one
    select
        product_id, browser_hash, window(five_seconds, '15 seconds') as fifteen
    from pairs
    group by product_id, browser_hash, window(five_seconds, '15 seconds')
),
counted as (
    select product_id, fifteen, count(*) as browsers
    from browsers
    group by product_id, fifteen
),
reach as (
    select
        product_id,
        fifteen.start as window_start,
        fifteen.end as window_end,
        browsers
    from counted
)
select * from reach
