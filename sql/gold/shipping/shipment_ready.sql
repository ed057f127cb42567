/*
Orders whose products are all manufactured: one row per order.

materialized: append
publish: {topic: shipping, key: order_id, value: {orderId: order_id}}
*/
with open_orders as (
    select order_id, missing, ordered_count, changed_at, _arrival
    from stream silver.open_orders
),
completed as (
    select order_id, changed_at as completed_at, _arrival
    from open_orders
    where ordered_count > 0 and size(missing) = 0
)
select * from completed
