/*
Orders that the stock has too little for: one row per order. Moves of scarce products take their turns.
*/
with moves as (
    select kind, order_id, turn, explode(pieces) as (product, number)
    from stream silver.stock_moves
),
scarce_products as (
    select product from stream silver.scarce_products
),
stock as (
    select product, stock, reserved, sold from silver.stock
),
scarce_moves as (
    select
        moves.kind,
        moves.order_id,
        moves.turn,
        collect_list(moves.product) as products,
        collect_list(struct(moves.product, moves.number)) as pieces
    from moves
    inner join scarce_products on moves.product = scarce_products.product
    group by moves.kind, moves.order_id, moves.turn
    union all
    select
        'put', null, null, array(stock.product),
        array(struct(
            stock.product, stock.reserved + stock.sold - stock.stock as number
        ))
    from stock
    inner join scarce_products on stock.product = scarce_products.product
),
linked as (
    -- products that are ordered together must take their turns together
    select explode(products) as product
    from scarce_moves
    where size(products) > 1
),
linked_products as (
    select product from linked group by product
),
shelved as (
    select
        scarce_moves.*,
        if(linked_products.product is null, products[0], null) as shelf
    from scarce_moves
    left join linked_products
        on scarce_moves.products[0] = linked_products.product
),
numbered as (
    select
        *, row_number() over (partition by shelf order by turn) as number
    from shelved
),
shelves as (
    select
        array_distinct(flatten(collect_list(products))) as products,
        sort_array(
            collect_list(struct(number, kind, order_id, pieces))
        ) as moves
    from numbered
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
decided as (
    select refused_orders(moves, products) as order_ids from turns
),
refused as (
    select explode(order_ids) as order_id from decided
)
select * from refused
