/*
Payments as they landed, typed: one row per payment. Amounts are kept to 8 decimals.
*/
select
    data.id as payment_id,
    data.orderId as order_id,
    struct(
        data.id,
        data.orderId,
        data.ccy,
        try_cast(data.amount as decimal(28, 8)) as amount
    ) as payment,
    event_time as paid_at,
    _arrival
from stream bronze.payments
