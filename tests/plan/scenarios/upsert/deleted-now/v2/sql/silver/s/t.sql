/*
Newest amounts: one row per id.

materialized: upsert
unique_key: id
delete_when: x = 2
*/
select id, x, y, _arrival from stream silver.a where x > 1
