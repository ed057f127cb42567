/*
Ids of numbers: one row per number.

materialized: append
*/
select id, _arrival from stream gold.castable
