/*
Products that have become popular: one row per product, at its thousandth view.

materialized: append
publish: {topic: popular-products, key: product_id, value: {productId: product_id, count: view_count}}
*/
with view_totals as (
    select product_id, view_count, viewed_at, _arrival
    from stream silver.view_totals
),
popular as (
    select product_id, view_count, viewed_at as popular_at, _arrival
    from view_totals
    where view_count = :popular_views
)
select * from popular
