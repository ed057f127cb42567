/*
Validated orders of platinum customers: one row per order.

materialized: append
query: shop_customers
once_per: order_id
publish: {topic: platinum-emails, key: order_id, value: {order: ordered, customer: customer}}
*/
with shop_orders as (
    select
        order_id, customer_id, state, product, quantity, price, items, _arrival
    from stream silver.shop_orders
),
known_customers as (
    select customer_id, customer, _arrival from stream silver.known_customers
),
validated as (
    select
        order_id,
        customer_id,
        struct(
            order_id as id, customer_id as customerId, state, product,
            quantity, price, items
        ) as ordered,
        _arrival
    from shop_orders
    where state = 'VALIDATED'
),
with_customer as (
    select
        validated.order_id,
        validated.customer_id,
        validated.ordered,
        max_by(
            known_customers.customer, known_customers._arrival
        ) as customer,
        validated._arrival
    from validated
    inner join known_customers
        on validated.customer_id = known_customers.customer_id
        and known_customers._arrival < validated._arrival
    group by all
),
platinum as (
    select * from with_customer where lower(customer.level) = 'platinum'
)
select * from platinum
