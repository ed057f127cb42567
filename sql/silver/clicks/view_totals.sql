/*
Running number of views per product: one row per product, one change per view.

materialized: upsert
unique_key: product_id
*/
with views as (
    select product_id, browser_hash, viewed_at, _arrival
    from stream silver.views
),
before as (
    select product_id, view_count from silver.view_totals
),
counted as (
    select
        views.product_id,
        coalesce(before.view_count, 0) + count(*) over (
            partition by views.product_id order by views._arrival
        ) as view_count,
        views.browser_hash,
        views.viewed_at,
        views._arrival
    from views
    left join before on views.product_id = before.product_id
)
select * from counted
