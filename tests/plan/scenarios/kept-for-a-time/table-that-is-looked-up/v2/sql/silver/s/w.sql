/*
Amounts: one row per amount.

materialized: append
keep: 7 days
*/
select id, x, _arrival from stream silver.a
