/*
Orders with the name that the customer had: one row per order.
*/
with orders as (
    select key as order_id, data.customer as customer, _arrival
    from stream bronze.orders
),
names as (
    select customer, name, _arrival from stream silver.customers_now
    union all
    select customer, name, _arrival from silver.customers_now
),
named as (
    select
        orders.order_id,
        max_by(names.name, names._arrival) as name,
        orders._arrival
    from orders
    left join names
        on orders.customer = names.customer
        and names._arrival < orders._arrival
    group by orders.order_id, orders._arrival
)
select * from named
