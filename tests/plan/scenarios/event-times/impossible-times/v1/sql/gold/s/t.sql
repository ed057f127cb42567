/*
Amounts: one row per amount.

materialized: append
*/
select key as id, data.x as x, _arrival from stream bronze.a
