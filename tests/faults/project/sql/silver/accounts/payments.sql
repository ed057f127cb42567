/*
Payments: one row per payment or closing of an account, which the record key names.

materialized: view
*/
select
    key as account,
    data.amount as amount,
    value is null as is_closing,
    event_time,
    _arrival
from stream bronze.payments
