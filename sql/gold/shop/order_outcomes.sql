/*
The outcome of each order: one row per order.

materialized: append
publish: {topic: shop-orders, key: order_id, value: {json: body}}
*/
with decided as (
    select order_id, state, reason, body, decided_arrival
    from stream silver.pending_orders
    where is_outcome
),
outcomes as (
    select
        order_id,
        state,
        reason,
        order_with_outcome(body, state, reason) as body,
        decided_arrival as _arrival
    from decided
)
select * from outcomes
