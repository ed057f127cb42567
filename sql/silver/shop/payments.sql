/*
Payments as they landed, typed: one row per payment.
*/
select
    data.id as payment_id,
    data.orderId as order_id,
    struct(data.id, data.orderId, data.ccy, data.amount) as payment,
    event_time as paid_at,
    _arrival
from stream bronze.payments
