/*
Orders that wait for verdicts: one row per order, until it has its outcome and its stock is checked.

materialized: upsert
unique_key: order_id
delete_when: state is not null and is_stock_checked
columns:
    order_id: string
    body: string
    pieces: map<string, bigint>
    rules: array<string>
    verdicts: "array<struct<_arrival: struct<landing_batch: bigint, topic: string, partition: int, offset: bigint>, check_type: string, result: string, reason: string, given_at: timestamp>>"
    is_stock_checked: boolean
    end_state: string
    state: string
    reason: string
    is_outcome: boolean
    decided_arrival: "struct<landing_batch: bigint, topic: string, partition: int, offset: bigint>"
    landed_at: timestamp
    created_arrival: "struct<landing_batch: bigint, topic: string, partition: int, offset: bigint>"
*/
with orders as (
    select
        order_id, body, pieces, rules, verdicts, is_stock_checked, end_state,
        state, reason, landed_at, created_arrival, is_new,
        landed_at + make_dt_interval(0, 0, 0, :order_timeout) as deadline
    from stream silver.undecided_orders
),
new_verdicts as (
    select order_id, verdicts, is_stock_checked, _arrival
    from stream silver.new_verdicts
),
order_ends as (
    select order_id, end_state, _arrival from stream silver.order_ends
),
overdue as (
    select orders.order_id, min(shop_clock._arrival) as _arrival
    from orders
    inner join stream bronze.shop_clock on orders.deadline < shop_clock.landed_at
    where orders.state is null
    group by orders.order_id
),
moved as (
    select
        orders.* except (verdicts, is_stock_checked, end_state, deadline),
        first_verdicts(
            orders.verdicts, coalesce(new_verdicts.verdicts, array())
        ) as verdicts,
        orders.is_stock_checked
        or coalesce(new_verdicts.is_stock_checked, false) as is_stock_checked,
        coalesce(orders.end_state, order_ends.end_state) as end_state,
        overdue._arrival as overdue_arrival,
        greatest(
            if(orders.is_new, orders.created_arrival, null),
            new_verdicts._arrival,
            order_ends._arrival,
            overdue._arrival
        ) as _arrival,
        orders.deadline
    from orders
    left join new_verdicts on orders.order_id = new_verdicts.order_id
    left join order_ends on orders.order_id = order_ends.order_id
    left join overdue on orders.order_id = overdue.order_id
),
judged as (
    select
        *,
        order_outcome(
            rules, verdicts, created_arrival, deadline, overdue_arrival
        ) as outcome
    from moved
    where _arrival is not null
),
changes as (
    select
        order_id,
        body,
        pieces,
        -- what has its outcome waits for no verdict any more
        if(coalesce(state, outcome.state) is null, rules, null) as rules,
        if(coalesce(state, outcome.state) is null, verdicts, null) as verdicts,
        is_stock_checked,
        end_state,
        coalesce(state, outcome.state) as state,
        if(state is null, outcome.reason, reason) as reason,
        state is null and outcome.state is not null as is_outcome,
        outcome.decided_arrival as decided_arrival,
        landed_at,
        created_arrival,
        _arrival
    from judged
)
select * from changes
