/*
Amounts with their rate: one row per amount.

materialized: append
*/
with a as (
    select id, k, x, _arrival from stream silver.a
),
r as (
    select k, rate from silver.rates
)
select a.id, r.rate, a._arrival from a left join r on a.k = r.k
