/*
Orders with customer and payment as they are now: one row per order, one change per batch that touches it.

materialized: upsert
query: shop_customers
unique_key: order_id
*/
with changed_orders as (
    select order_id, customer_id, state, product, quantity, price, items,
        ordered_at, _arrival
    from stream silver.orders_by_id
),
orders as (
    select * from changed_orders
    union all
    select order_id, customer_id, state, product, quantity, price, items,
        ordered_at, _arrival
    from silver.orders_by_id
),
changed_customers as (
    select customer_id, first_name, last_name, email, level, _arrival
    from stream silver.customers
),
customers as (
    select * from changed_customers
    union all
    select customer_id, first_name, last_name, email, level, _arrival
    from silver.customers
),
new_payments as (
    select order_id, payment, paid_at, _arrival
    from stream silver.first_payments
),
payments as (
    select * from new_payments
    union all
    select order_id, payment, paid_at, _arrival from silver.first_payments
),
touched as (
    select order_id from changed_orders
    union all
    select order_id from new_payments
    union all
    select orders.order_id
    from orders
    inner join changed_customers
        on orders.customer_id = changed_customers.customer_id
),
newest_orders as (
    select orders.*
    from orders
    inner join touched on orders.order_id = touched.order_id
    qualify row_number() over (
        partition by orders.order_id order by orders._arrival desc
    ) = 1
),
order_grid as (
    select
        newest_orders.order_id,
        newest_orders.state,
        newest_orders.product,
        newest_orders.quantity,
        newest_orders.price,
        newest_orders.items,
        newest_orders.ordered_at,
        newest_orders.customer_id,
        customers.first_name,
        customers.last_name,
        customers.email,
        customers.level,
        payments.payment.id as payment_id,
        payments.payment.ccy as currency,
        payments.payment.amount as amount,
        payments.paid_at,
        greatest(
            newest_orders._arrival, payments._arrival, customers._arrival
        ) as _arrival
    from newest_orders
    left join payments on newest_orders.order_id = payments.order_id
    left join customers on newest_orders.customer_id = customers.customer_id
    qualify row_number() over (
        partition by newest_orders.order_id order by customers._arrival desc
    ) = 1
)
select * from order_grid
