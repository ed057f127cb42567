/*
Newest quote of each symbol and the one before: one row per symbol, one change per quote.

materialized: upsert
unique_key: symbol
*/
with prices as (
    select key as symbol, data.price as price, _arrival
    from stream bronze.prices
),
before as (
    select symbol, price from silver.quotes
),
quotes as (
    select
        prices.symbol,
        prices.price,
        coalesce(
            lag(prices.price) over (
                partition by prices.symbol order by prices._arrival
            ),
            before.price
        ) as price_before,
        prices._arrival
    from prices
    left join before on prices.symbol = before.symbol
)
select * from quotes
