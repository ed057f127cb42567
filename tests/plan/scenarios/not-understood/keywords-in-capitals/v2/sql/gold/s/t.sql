/*
Amounts: one row per amount.

materialized: append
*/
with a as (
    SELECT id, k, _arrival from stream silver.a
),
newest as (
    SELECT k, TO_JSON(struct(y as Date)) as told from silver.b ORDER BY y desc limit 3
)
SELECT a.id, newest.told, a._arrival from a join newest on a.k = newest.k
