/*
When each product first came into the warehouse: one row per product that ever did.
*/
with stock as (
    select product, stocked_at, stocked_arrival from silver.stock
),
deliveries as (
    select product, landed_at, _arrival from stream silver.stock_deliveries
),
first_of_batch as (
    select
        product,
        min_by(landed_at, _arrival) as stocked_at,
        min(_arrival) as stocked_arrival
    from deliveries
    group by product
),
firsts as (
    select product, stocked_at, stocked_arrival from stock
    union all
    select first_of_batch.*
    from first_of_batch
    left anti join stock on first_of_batch.product = stock.product
)
select * from firsts
