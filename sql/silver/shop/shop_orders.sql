/*
Records of shop orders as they landed, typed: one row per record, whatever its state.
*/
with landed as (
    select data, value, event_time, landed_at, _arrival
    from stream bronze.shop_orders
),
typed as (
    select
        data.id as order_id,
        data.customerId as customer_id,
        data.state as state,
        data.product as product,
        data.quantity as quantity,
        data.price as price,
        data.items as items,
        value as body,
        event_time as ordered_at,
        landed_at,
        _arrival
    from landed
)
select * from typed
