/*
Newest amounts: one row per id.

materialized: upsert
unique_key: id
query: s
*/
select id, x, rises, _arrival from stream silver.m
