/*
Products that left the factory: one row per manufactured event.
*/
select
    key as order_id,
    data.productId as product_id,
    event_time as made_at,
    _arrival
from stream bronze.manufactured
