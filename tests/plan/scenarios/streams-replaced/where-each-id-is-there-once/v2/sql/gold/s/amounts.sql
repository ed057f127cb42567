/*
Amounts: one row per amount.

materialized: append
once_per: id
*/
select id, x, _arrival from stream silver.c
