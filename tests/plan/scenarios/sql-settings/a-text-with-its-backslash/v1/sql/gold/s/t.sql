/*
Amounts: one row per record.

materialized: append
*/
select id, x, _arrival from stream silver.a where id rlike 'i\d'
