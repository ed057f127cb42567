/*
What each customer ordered lately, in sessions: one row per customer, one change per order.

materialized: upsert
unique_key: customer_id
columns:
    customer_id: bigint
    order_id: string
    total: decimal(37, 8)
    is_late: boolean
    newest_at: timestamp
    sessions: "array<struct<started_at: timestamp, ended_at: timestamp, total: decimal(37, 8)>>"
    landed_at: timestamp
*/
with orders as (
    select
        customer_id,
        -- plain columns, since an order of structs in structs is slow; and made
        -- before they are collected, as code is generated for it here
        struct(
            _arrival.landing_batch, _arrival.topic, _arrival.partition,
            _arrival.offset, order_id, ordered_at, landed_at, amount
        ) as made
    from stream silver.orders_to_check
),
before as (
    select customer_id, newest_at, sessions from silver.customer_sessions
),
in_order as (
    select customer_id, sort_array(collect_list(made)) as orders
    from orders
    group by customer_id
),
folded as (
    select
        in_order.customer_id,
        session_totals(
            coalesce(before.sessions, array()),
            before.newest_at,
            in_order.orders,
            make_dt_interval(0, 0, 0, :fraud_gap),
            make_dt_interval(0, 0, 0, :fraud_kept)
        ) as steps
    from in_order
    left join before on in_order.customer_id = before.customer_id
),
steps as (
    select customer_id, explode(steps) as step from folded
),
changes as (
    select
        customer_id,
        step.made.order_id as order_id,
        step.total as total,
        step.is_late as is_late,
        step.newest_at as newest_at,
        step.sessions as sessions,
        step.made.landed_at as landed_at,
        struct(
            step.made.landing_batch, step.made.topic, step.made.partition,
            step.made.offset
        ) as _arrival
    from steps
)
select * from changes
