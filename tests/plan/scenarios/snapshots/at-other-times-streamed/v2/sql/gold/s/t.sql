/*
Amounts: one row per amount.

materialized: append
*/
select id, x, at from stream gold.shots
