/*
Stored amounts: one row per amount.

materialized: append
*/
select id, x, _arrival from stream silver.a
