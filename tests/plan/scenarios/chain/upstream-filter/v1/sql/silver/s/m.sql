/*
Amounts kept: one row per amount.

materialized: append
query: s
*/
select id, x, y, _arrival from stream silver.a where x > 1
