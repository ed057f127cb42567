/*
Amounts: one row per amount.

materialized: upsert
unique_key: id
*/
select id, x, _arrival from stream silver.a
