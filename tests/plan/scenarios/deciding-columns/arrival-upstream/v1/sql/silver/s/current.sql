/*
Newest amounts: one row per id.

materialized: upsert
unique_key: id
*/
select id, x, _arrival, y from stream silver.a
