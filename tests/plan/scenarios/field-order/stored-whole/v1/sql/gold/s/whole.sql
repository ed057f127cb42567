/*
Whole records: one row per record.

materialized: append
*/
select key as id, data as body, _arrival from stream bronze.a
