/*
Sales of a product in a minute: one row per product per minute, once the minute is final.

materialized: append
*/
with sales as (
    select product, value, sold_at
    from stream silver.sales watermark sold_at delay of interval 1 minute
),
per_minute as (
    select
        product,
        window(sold_at, '1 minute') as minute,
        count(*) as sales_count,
        sum(value) as total
    from sales
    where value is not null
    group by product, window(sold_at, '1 minute')
),
final as (
    select
        product,
        minute.start as window_start,
        minute.end as window_end,
        sales_count,
        total
    from per_minute
)
select * from final
