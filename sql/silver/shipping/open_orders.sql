/*
What each unshipped order waits for: one row per order, one change per event.

materialized: upsert
unique_key: order_id
close_when: ordered_count > 0 and size(missing) = 0
log: order_progress(order_id, ordered, missing, made_count, ordered_count)
columns:
    order_id: string
    ordered: "array<struct<id: bigint, name: string>>"
    made: "array<struct<id: bigint, made_at: timestamp>>"
    missing: array<bigint>
    unexpected: array<bigint>
    made_count: int
    ordered_count: int
    waiting_since: timestamp
    changed_at: timestamp
*/
with orders as (
    select order_id, items, ordered_at, _arrival from stream silver.orders
),
manufactured as (
    select
        order_id,
        made_at,
        _arrival,
        -- a product made twice counts once: its first event names the date
        case
            when row_number() over (
                partition by order_id, product_id order by _arrival
            ) = 1 then product_id
        end as product_id
    from stream silver.manufactured
),
events as (
    select
        order_id, items, null as product_id, ordered_at as happened_at, _arrival
    from orders
    union all
    select order_id, null, product_id, made_at, _arrival from manufactured
),
so_far as (
    select
        events.order_id,
        events._arrival,
        events.happened_at as changed_at,
        coalesce(
            open_orders.waiting_since,
            first_value(events.happened_at) over (
                partition by events.order_id order by events._arrival
            )
        ) as waiting_since,
        coalesce(
            last_value(events.items, true) over (
                partition by events.order_id order by events._arrival
            ),
            open_orders.ordered,
            array()
        ) as ordered,
        concat(
            coalesce(open_orders.made, array()),
            collect_list(
                case
                    when array_contains(open_orders.made.id, events.product_id)
                        then null
                    when events.product_id is not null
                        then struct(
                            events.product_id as id,
                            events.happened_at as made_at
                        )
                end
            ) over (partition by events.order_id order by events._arrival)
        ) as made
    from events
    left join silver.open_orders on events.order_id = open_orders.order_id
),
compared as (
    select
        *,
        array_except(ordered.id, made.id) as missing,
        if(
            size(ordered) > 0, array_except(made.id, ordered.id), array()
        ) as unexpected,
        size(array_distinct(ordered.id)) as ordered_count
    from so_far
),
counted as (
    select *, size(made) - size(unexpected) as made_count from compared
),
described as (
    select
        order_id,
        ordered,
        made,
        missing,
        unexpected,
        made_count,
        ordered_count,
        waiting_since,
        changed_at,
        _arrival
    from counted
)
select * from described
