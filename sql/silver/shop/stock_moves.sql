/*
What puts pieces into the stock or wants to take them, in turns: one row per move. An order that fails undoes what it
took.
*/
with requests as (
    select
        order_id, pieces, end_state, checked_arrival, _arrival
    from stream silver.stock_requests
    where checked_arrival is not null and not has_negative_line
),
deliveries as (
    select product, pieces, _arrival from stream silver.stock_deliveries
),
order_ends as (
    select order_id, end_state, _arrival from stream silver.order_ends
),
given_back as (
    -- reserved by an earlier batch
    select
        order_ends._arrival,
        explode(reservations.pieces) as (product, pieces)
    from order_ends
    inner join silver.reservations
        on order_ends.order_id = reservations.order_id
    where order_ends.end_state = 'FAILED'
),
failed as (
    select requests.*, order_ends._arrival as failed_arrival
    from requests
    left join order_ends
        on requests.order_id = order_ends.order_id
        and order_ends._arrival > requests.checked_arrival
        and requests.end_state is null
    where coalesce(requests.end_state, order_ends.end_state) = 'FAILED'
),
given as (
    select product, pieces, _arrival from deliveries
    union all
    select product, pieces, _arrival from given_back
),
unordered as (
    select
        'take' as kind,
        order_id,
        pieces,
        checked_arrival as at,
        _arrival as created,
        1 as step
    from requests
    union all
    -- it fails in this batch too, or has failed while it waited
    select
        'undo',
        order_id,
        transform_values(pieces, (product, number) -> -number),
        greatest(checked_arrival, failed_arrival),
        _arrival,
        2
    from failed
    union all
    select 'put', null, map(product, -pieces), _arrival, null, 0 from given
),
moves as (
    select kind, order_id, pieces, struct(at, created, step) as turn
    from unordered
)
select * from moves
