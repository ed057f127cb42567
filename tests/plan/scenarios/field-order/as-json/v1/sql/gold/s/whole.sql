/*
Whole records: one row per record.

materialized: append
*/
select key as id, to_json(data) as body, _arrival from stream bronze.a
