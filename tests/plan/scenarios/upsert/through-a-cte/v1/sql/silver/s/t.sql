/*
Newest amounts: one row per id.

materialized: upsert
unique_key: id
*/
select id, x, y, _arrival from stream silver.a where x > 1
