/*
Orders and what was paid for them, whichever came first: one row per order, one change per record.

materialized: upsert
unique_key: order_id
*/
with events as (
    select
        key as order_id,
        struct(data.customer, data.amount) as ordered,
        null as paid,
        _arrival
    from stream bronze.orders
    union all
    select key, null, data.amount, _arrival from stream bronze.payments
),
before as (
    select order_id, customer, amount, paid from silver.order_states
),
so_far as (
    select
        events.order_id,
        coalesce(
            last_value(events.ordered, true) over (
                partition by events.order_id order by events._arrival
            ),
            struct(before.customer, before.amount)
        ) as ordered,
        coalesce(
            last_value(events.paid, true) over (
                partition by events.order_id order by events._arrival
            ),
            before.paid
        ) as paid,
        events._arrival
    from events
    left join before on events.order_id = before.order_id
)
select
    order_id,
    ordered.customer as customer,
    ordered.amount as amount,
    paid,
    _arrival
from so_far
