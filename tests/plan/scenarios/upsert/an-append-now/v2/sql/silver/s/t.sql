/*
Newest amounts: one row per id.

materialized: append
*/
select id, x, y, _arrival from stream silver.a where x > 1
