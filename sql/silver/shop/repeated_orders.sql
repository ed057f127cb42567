/*
CREATED records of ids that are orders already, which are ignored: one row per record.

materialized: append
*/
with shop_orders as (
    select order_id, landed_at, _arrival
    from stream silver.shop_orders
    where state = 'CREATED'
),
created_orders as (
    select order_id, _arrival from stream silver.created_orders
),
repeated as (
    select shop_orders.*
    from shop_orders
    -- an order is the first of its records; rows lie by order, not by arrival
    left anti join created_orders
        on shop_orders.order_id = created_orders.order_id
        and shop_orders._arrival = created_orders._arrival
)
select * from repeated
