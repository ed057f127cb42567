/*
Newest amounts: one row per id.

materialized: upsert
unique_key: id
*/
with a as (select id, x as amount, y, _arrival from stream silver.a), b as (select * from a where amount > 1) select id, amount as x, y, _arrival from b
