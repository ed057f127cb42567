/*
Whether the stock had what each order asks for: one row per order.

materialized: append
*/
with requests as (
    select
        order_id, pieces, has_negative_line, end_state, deadline, checked_at,
        checked_arrival
    from stream silver.stock_requests
),
moves as (
    select
        kind, order_id, turn, map_keys(pieces) as products,
        map_entries(pieces) as pieces
    from stream silver.stock_moves
    where size(pieces) > 0
),
linked as (
    -- products that are ordered together must take their turns together
    select explode(products) as product from moves where size(products) > 1
),
linked_products as (
    select product from linked group by product
),
stock as (
    select product, stock, reserved, sold from silver.stock
),
stocked_moves as (
    select kind, order_id, turn, products, pieces from moves
    union all
    select
        'put', null, null, array(product),
        array(struct(product as key, reserved + sold - stock as value))
    from stock
),
shelves as (
    select
        if(
            linked_products.product is null, stocked_moves.products[0], null
        ) as shelf,
        array_distinct(flatten(collect_list(stocked_moves.products)))
            as products,
        sort_array(collect_list(struct(
            stocked_moves.turn,
            stocked_moves.kind,
            stocked_moves.order_id,
            stocked_moves.pieces
        ))) as moves
    from stocked_moves
    left join linked_products
        on stocked_moves.products[0] = linked_products.product
    group by shelf
),
turns as (
    select
        products,
        transform(moves, move -> struct(
            move.kind as kind,
            move.order_id as order_id,
            map_from_entries(move.pieces) as pieces
        )) as moves
    from shelves
),
taken as (
    select passing_orders(moves, products) as order_ids from turns
),
passed as (
    select explode(order_ids) as order_id from taken
),
overdue as (
    select requests.order_id, min(shop_clock._arrival) as _arrival
    from requests
    inner join stream bronze.shop_clock
        on requests.deadline < shop_clock.landed_at
    where requests.checked_arrival is null
    group by requests.order_id
),
checked as (
    select
        requests.order_id,
        requests.pieces,
        requests.end_state,
        case
            when requests.has_negative_line then 'negative_quantity'
            when requests.checked_arrival is null then 'no_stock'
            when passed.order_id is null and size(requests.pieces) > 0
                then 'out_of_stock'
        end as reason,
        if(
            requests.checked_arrival is null,
            requests.deadline,
            requests.checked_at
        ) as checked_at,
        coalesce(requests.checked_arrival, overdue._arrival) as _arrival
    from requests
    left join passed on requests.order_id = passed.order_id
    left join overdue on requests.order_id = overdue.order_id
),
verdicts as (
    select
        order_id,
        pieces,
        end_state,
        if(reason is null, 'PASS', 'FAIL') as result,
        reason,
        checked_at,
        _arrival
    from checked
    where _arrival is not null
)
select * from verdicts
