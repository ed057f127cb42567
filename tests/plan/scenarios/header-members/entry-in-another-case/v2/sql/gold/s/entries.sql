/*
Entries: one row per id.

materialized: upsert
unique_key: id
delete_when: attrs.color is not null
*/
select key as id, data.attrs as attrs, data.x as x, _arrival from stream bronze.entries
