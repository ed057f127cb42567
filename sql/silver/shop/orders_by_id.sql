/*
Orders in their latest state: one row per order id, one change per record.

materialized: upsert
query: shop_customers
unique_key: order_id
*/
with shop_orders as (
    select
        order_id, customer_id, state, product, quantity, price, items, body,
        ordered_at, landed_at, _arrival
    from stream silver.shop_orders
)
select * from shop_orders
