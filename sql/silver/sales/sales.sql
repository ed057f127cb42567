/*
Sales events: one row per event. The record key names the product; a null value deletes it.
*/
select
    key as product,
    cast(data.value as decimal(38, 0)) as value,
    value is null as is_deletion,
    coalesce(data.product <> key, false) as product_differs,
    event_time as sold_at,
    _arrival
from stream bronze.sales
