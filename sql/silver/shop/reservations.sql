/*
Pieces that orders hold of the stock until they fail or are shipped: one row per order, one change per event.

materialized: upsert
unique_key: order_id
delete_when: state <> 'RESERVED'
columns:
    order_id: string
    pieces: map<string, bigint>
    state: string
    was_reserved: boolean
*/
with passed as (
    select
        order_id,
        pieces,
        -- an order that ended while it waited for stock holds nothing
        coalesce(end_state, 'RESERVED') as state,
        _arrival
    from stream silver.inventory_checks
    where result = 'PASS'
),
order_ends as (
    select order_id, end_state, _arrival from stream silver.order_ends
),
held as (
    select order_id, pieces, _arrival from passed where state = 'RESERVED'
    union all
    select order_id, pieces, null from silver.reservations
),
changes as (
    select order_id, pieces, state, false as was_reserved, _arrival
    from passed
    union all
    select
        held.order_id,
        held.pieces,
        order_ends.end_state,
        true,
        greatest(order_ends._arrival, held._arrival)
    from held
    inner join order_ends on held.order_id = order_ends.order_id
)
select * from changes
