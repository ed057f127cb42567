/*
Rates: one row per k.

materialized: upsert
unique_key: k
*/
select data.k, data.rate as rate, _arrival from stream bronze.rates
