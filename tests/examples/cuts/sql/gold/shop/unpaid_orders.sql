/*
Orders without a payment: one row per order, until it is paid.

materialized: upsert
unique_key: order_id
delete_when: is_paid
*/
select order_id, amount, paid is not null as is_paid, _arrival
from stream silver.order_states
where customer is not null
