/*
Orders and payments that are close in event time: one row per order and payment.

materialized: append
*/
with created_orders as (
    select
        order_id, customer_id, product, quantity, price, items,
        ordered_at, _arrival
    from stream silver.created_orders
        watermark ordered_at delay of interval 10 minutes
),
payments as (
    select order_id, payment, paid_at, _arrival
    from stream silver.payments watermark paid_at delay of interval 10 minutes
),
matches as (
    select
        created_orders.order_id,
        created_orders.customer_id,
        struct(
            created_orders.order_id as id,
            created_orders.customer_id as customerId,
            'CREATED' as state,
            created_orders.product,
            created_orders.quantity,
            created_orders.price,
            created_orders.items
        ) as ordered,
        payments.payment,
        payments._arrival as payment_arrival,
        greatest(created_orders._arrival, payments._arrival) as _arrival
    from created_orders
    inner join payments
        on created_orders.order_id = payments.order_id
        and payments.paid_at
            >= created_orders.ordered_at
            - make_dt_interval(0, 0, 0, :payment_gap)
        and payments.paid_at
            <= created_orders.ordered_at
            + make_dt_interval(0, 0, 0, :payment_gap)
)
select * from matches
