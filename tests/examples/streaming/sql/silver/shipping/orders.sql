/*
Orders as the shop sends them: one row per order event.
*/
select
    key as order_id,
    data.items as items,
    event_time as ordered_at,
    _arrival
from stream bronze.orders
