/*
Pieces that came into the warehouse: one row per delivery.
*/
select
    key as product,
    cast(data as bigint) as pieces,
    landed_at,
    _arrival
from stream bronze.stock_deliveries
