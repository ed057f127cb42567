/*
Records of customers as they landed, typed: one row per record.
*/
with landed as (
    select data, event_time, _arrival from stream bronze.customers
),
typed as (
    select
        data.id as customer_id,
        struct(
            data.id, data.firstName, data.lastName, data.email, data.address,
            data.level
        ) as customer,
        event_time as changed_at,
        _arrival
    from landed
)
select * from typed
