/*
Amounts: one row per record.

materialized: append
*/
select key as id, data.x as x, _arrival from stream bronze.a
