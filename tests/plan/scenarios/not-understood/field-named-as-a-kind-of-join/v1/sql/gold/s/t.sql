/*
Amounts: one row per amount.

materialized: append
*/
with a as (
    select id, k, _arrival from stream silver.a
),
newest as (
    select k, to_json(struct(y as Left)) as told from silver.b order by y desc limit 3
)
select a.id, newest.told, a._arrival from a join newest on a.k = newest.k
