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
details as (
    select order_id, verdict from stream silver.new_verdicts
    where check_type = 'ORDER_DETAILS_CHECK'
),
fraud as (
    select order_id, verdict from stream silver.new_verdicts
    where check_type = 'FRAUD_CHECK'
),
stock as (
    select order_id, verdict from stream silver.new_verdicts
    where check_type = 'INVENTORY_CHECK'
),
others as (
    select order_id, verdicts, _arrival from stream silver.new_validations
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
            orders.verdicts,
            -- usually there are no others, and the list needs no second one
            sort_array(array_compact(if(
                others.verdicts is null,
                array(details.verdict, fraud.verdict, stock.verdict),
                concat(
                    array(details.verdict, fraud.verdict, stock.verdict),
                    others.verdicts
                )
            )))
        ) as verdicts,
        orders.is_stock_checked
        or stock.verdict is not null as is_stock_checked,
        coalesce(orders.end_state, order_ends.end_state) as end_state,
        overdue._arrival as overdue_arrival,
        greatest(
            if(orders.is_new, orders.created_arrival, null),
            details.verdict._arrival,
            fraud.verdict._arrival,
            stock.verdict._arrival,
            others._arrival,
            order_ends._arrival,
            overdue._arrival
        ) as _arrival,
        orders.deadline
    from orders
    -- a join for each check: its rows need not be brought together first
    left join details on orders.order_id = details.order_id
    left join fraud on orders.order_id = fraud.order_id
    left join stock on orders.order_id = stock.order_id
    left join others on orders.order_id = others.order_id
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
