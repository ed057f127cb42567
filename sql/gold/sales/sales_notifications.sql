/*
News of products whose sales reach the target: one row per sales event that gives news.

materialized: append
publish: {topic: notifications-events-v1, key: product, value: {product: product, value: total}, tombstone_when: is_retraction}
*/
with sales_totals as (
    select
        product, reached, total_before, is_first_reach, product_differs,
        changed_at, _arrival
    from stream silver.sales_totals
),
judged as (
    select
        *,
        case :sales_policy
            when 'once' then is_first_reach
            else coalesce(reached >= :sales_threshold, false)
        end as is_news,
        :sales_policy = 'every_update'
        and coalesce(total_before >= :sales_threshold, false)
        and coalesce(reached < :sales_threshold, true) as is_retraction
    from sales_totals
),
notifications as (
    select
        product,
        reached as total,
        is_retraction,
        product_differs,
        changed_at as notified_at,
        _arrival
    from judged
    where is_news or is_retraction
)
select * from notifications
