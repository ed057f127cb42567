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
    select customer_id, order_id, ordered_at, landed_at, amount, _arrival
    from stream silver.orders_to_check
),
before as (
    select customer_id, newest_at, sessions from silver.customer_sessions
),
in_order as (
    select
        customer_id,
        sort_array(collect_list(
            struct(_arrival, order_id, ordered_at, landed_at, amount)
        )) as orders
    from orders
    group by customer_id
),
with_steps as (
    select
        in_order.customer_id,
        in_order.orders,
        session_totals(
            coalesce(before.sessions, array()),
            before.newest_at,
            arrays_zip(in_order.orders.ordered_at, in_order.orders.amount),
            make_dt_interval(0, 0, 0, :fraud_gap),
            make_dt_interval(0, 0, 0, :fraud_kept)
        ) as steps
    from in_order
    left join before on in_order.customer_id = before.customer_id
),
per_order as (
    select customer_id, inline(arrays_zip(orders, steps)) as (ordered, step)
    from with_steps
),
changes as (
    select
        customer_id,
        ordered.order_id,
        step.total,
        step.is_late,
        step.newest_at,
        step.sessions,
        ordered.landed_at,
        ordered._arrival
    from per_order
)
select * from changes
