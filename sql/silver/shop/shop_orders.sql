/*
Records of shop orders as they landed, typed: one row per record, whatever its state. Prices are kept to 8 decimals.
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
        try_cast(data.price as decimal(28, 8)) as price,
        transform(data.items, line -> if(line is null, null, named_struct(
            'product', line.product,
            'quantity', line.quantity,
            'price', try_cast(line.price as decimal(28, 8))
        ))) as items,
        value as body,
        event_time as ordered_at,
        landed_at,
        _arrival
    from landed
)
select * from typed
