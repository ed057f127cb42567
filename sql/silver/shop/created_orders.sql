/*
Orders as they were created: one row per order id, its first CREATED record in arrival order.

materialized: append
once_per: order_id
*/
with shop_orders as (
    select
        order_id, customer_id, state, product, quantity, price, items, body,
        ordered_at, landed_at, _arrival
    from stream silver.shop_orders
),
created as (
    select * except (state) from shop_orders where state = 'CREATED'
)
select * from created
