/*
Rates: one row per k.

materialized: upsert
unique_key: k
*/
select data.k, data.rate + 1 as rate, _arrival from stream bronze.rates
