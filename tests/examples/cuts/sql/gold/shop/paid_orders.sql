/*
Orders with their payment: one row per paid order.

once_per: order_id
*/
select order_id, customer, amount, paid, _arrival
from stream silver.order_states
where customer is not null and paid is not null
