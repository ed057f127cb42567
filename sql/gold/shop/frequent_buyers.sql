/*
Orders of customers who order often: one row per order beyond the usual number in its window.

materialized: append
query: shop_customers
publish: {topic: frequent-buyers, key: customer_id, value: {customerId: customer_id, windowStart: window_start_ms, count: order_count}}
*/
with order_counts as (
    select
        customer_id, window_start, order_id, order_count, is_forgotten, _arrival
    from stream silver.order_counts
),
frequent as (
    select
        customer_id,
        window_start,
        unix_millis(window_start) as window_start_ms,
        order_id,
        order_count,
        _arrival
    from order_counts
    where not is_forgotten and order_count > :frequent_orders
)
select * from frequent
