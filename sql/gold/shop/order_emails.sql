/*
Notices to customers that their order is paid: one row per order.

materialized: append
query: shop_customers
publish: {topic: order-emails, key: order_id, value: {order: ordered, payment: payment, customer: customer}}
*/
with pending_emails as (
    select order_id, customer_id, ordered, payment, customer, _arrival
    from stream silver.pending_emails
),
decided as (
    select * from pending_emails where customer is not null
)
select * from decided
