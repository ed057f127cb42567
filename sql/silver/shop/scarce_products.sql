/*
Products of which orders ask for more than there is, if none of them is refused: one row per product. All others need
no turns, since an order that is refused only leaves more for the rest.
*/
with moves as (
    select kind, turn, explode(pieces) as (product, number)
    from stream silver.stock_moves
),
stock as (
    select product, stock, reserved, sold from silver.stock
),
taken as (
    select
        product,
        kind,
        sum(number) over (partition by product order by turn) as number
    from moves
),
scarce as (
    select taken.product
    from taken
    left join stock on taken.product = stock.product
    where taken.kind = 'take'
        and taken.number
            > coalesce(stock.stock - stock.reserved - stock.sold, 0)
    group by taken.product
)
select * from scarce
