/*
Orders whose stock is not checked yet, and when it can be: one row per order. That is on arrival or, where a product
has never been delivered, with the delivery of the last of them, if it lands before the deadline.
*/
with new_orders as (
    select order_id, pieces, has_negative_line, landed_at, _arrival
    from stream silver.orders_to_check
),
pending_orders as (
    select order_id, pieces, end_state, landed_at, created_arrival
    from silver.pending_orders
    where not is_stock_checked
),
first_deliveries as (
    select product, stocked_at, stocked_arrival
    from stream silver.first_deliveries
),
order_ends as (
    select order_id, end_state, _arrival from stream silver.order_ends
),
orders as (
    select
        order_id, pieces, has_negative_line, null as end_state,
        landed_at, _arrival
    from new_orders
    union all
    select order_id, pieces, false, end_state, landed_at, created_arrival
    from pending_orders
),
wanted as (
    select order_id, explode(map_keys(pieces)) as product from orders
),
stocked as (
    select
        wanted.order_id,
        count(*) = count(first_deliveries.product) as is_stocked,
        max(first_deliveries.stocked_at) as stocked_at,
        max(first_deliveries.stocked_arrival) as stocked_arrival
    from wanted
    left join first_deliveries on wanted.product = first_deliveries.product
    group by wanted.order_id
),
dated as (
    select
        orders.*,
        orders.landed_at
        + make_dt_interval(0, 0, 0, :stock_deadline) as deadline,
        coalesce(stocked.is_stocked, true) as is_stocked,
        stocked.stocked_at,
        stocked.stocked_arrival
    from orders
    left join stocked on orders.order_id = stocked.order_id
),
timed as (
    select
        order_id,
        pieces,
        has_negative_line,
        end_state,
        deadline,
        if(
            has_negative_line, landed_at, greatest(landed_at, stocked_at)
        ) as checked_at,
        case
            when has_negative_line then _arrival
            when is_stocked and (
                coalesce(stocked_arrival < _arrival, true)
                or stocked_at <= deadline
            ) then greatest(_arrival, stocked_arrival)
        end as checked_arrival,
        _arrival
    from dated
),
requests as (
    select
        timed.* except (end_state),
        -- set if the order ended while it waited
        coalesce(timed.end_state, order_ends.end_state) as end_state
    from timed
    left join order_ends
        on timed.order_id = order_ends.order_id
        and order_ends._arrival < timed.checked_arrival
)
select * from requests
