/*
Records that end what an order holds of the stock: one row per order, its first FAILED or SHIPPED record.
*/
with shop_orders as (
    select order_id, state, _arrival
    from stream silver.shop_orders
    where state in ('FAILED', 'SHIPPED')
),
created_orders as (
    select order_id, _arrival from stream silver.created_orders
),
ends as (
    select
        shop_orders.order_id,
        min_by(shop_orders.state, shop_orders._arrival) as end_state,
        min(shop_orders._arrival) as _arrival
    from shop_orders
    left join created_orders on shop_orders.order_id = created_orders.order_id
    where shop_orders._arrival > created_orders._arrival
        or created_orders._arrival is null
    group by shop_orders.order_id
)
select * from ends
