/*
Newest answers: one row per id.

materialized: upsert
unique_key: id
query: s
*/
select id, y, _arrival from stream silver.b
