/*
How each quote differs from the one before, in percent: one row per quote.
*/
select
    symbol,
    price,
    100 * (price - price_before) / price_before as percent,
    _arrival
from stream silver.quotes
