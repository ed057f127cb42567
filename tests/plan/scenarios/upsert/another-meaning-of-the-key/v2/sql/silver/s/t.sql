/*
Newest amounts: one row per id.

materialized: upsert
unique_key: id
*/
select concat(id, '!') as id, x, y, _arrival from stream silver.a where x > 1
