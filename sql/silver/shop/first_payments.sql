/*
First payments to arrive for an order: one row per order id, in time for it or not.

materialized: upsert
query: shop_customers
unique_key: order_id
columns:
    order_id: string
    payment: "struct<id: string, orderId: string, ccy: string, amount: decimal(28, 8)>"
    paid_at: timestamp
    _arrival: "struct<landing_batch: bigint, topic: string, partition: int, offset: bigint>"
*/
with payments as (
    select order_id, payment, paid_at, _arrival from stream silver.payments
),
before as (
    select order_id from silver.first_payments
),
first_payments as (
    select payments.order_id, payments.payment, payments.paid_at, _arrival
    from payments
    left anti join before on payments.order_id = before.order_id
    qualify row_number() over (
        partition by payments.order_id order by _arrival
    ) = 1
)
select * from first_payments
