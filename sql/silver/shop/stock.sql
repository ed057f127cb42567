/*
The stock of each product that was ever delivered: one row per product, one change per event. What is free is stock
less reserved less sold.

materialized: upsert
unique_key: product
columns:
    product: string
    stock: bigint
    reserved: bigint
    sold: bigint
    stocked_at: timestamp
    stocked_arrival: "struct<landing_batch: bigint, topic: string, partition: int, offset: bigint>"
*/
with deliveries as (
    select product, pieces, _arrival from stream silver.stock_deliveries
),
reservations as (
    select explode(pieces) as (product, number), state, was_reserved, _arrival
    from stream silver.reservations
),
first_deliveries as (
    select product, stocked_at, stocked_arrival
    from stream silver.first_deliveries
),
before as (
    select product, stock, reserved, sold from silver.stock
),
moves as (
    select product, pieces as stock, 0 as reserved, 0 as sold, _arrival
    from deliveries
    union all
    select
        product,
        0,
        number * (int(state = 'RESERVED') - int(was_reserved)),
        number * int(state = 'SHIPPED'),
        _arrival
    from reservations
),
per_event as (
    select
        product,
        _arrival,
        sum(stock) as stock,
        sum(reserved) as reserved,
        sum(sold) as sold
    from moves
    group by product, _arrival
),
summed as (
    select
        per_event.product,
        sum(per_event.stock) over so_far
        + coalesce(before.stock, 0) as stock,
        sum(per_event.reserved) over so_far
        + coalesce(before.reserved, 0) as reserved,
        sum(per_event.sold) over so_far + coalesce(before.sold, 0) as sold,
        first_deliveries.stocked_at,
        first_deliveries.stocked_arrival,
        per_event._arrival
    from per_event
    inner join first_deliveries on per_event.product = first_deliveries.product
    left join before on per_event.product = before.product
    window so_far as (
        partition by per_event.product order by per_event._arrival
    )
)
select * from summed
