/*
Entries: one row per id.

materialized: upsert
unique_key: id
delete_when: ATTRS['Color'] is not null
*/
select key as id, data.attrs as attrs, data.x as x, _arrival from stream bronze.entries
