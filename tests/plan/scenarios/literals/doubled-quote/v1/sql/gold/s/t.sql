/*
Amounts: one row per amount.

materialized: append
*/
with a as (
    select id, k, _arrival from stream silver.a
)
select id, concat(k, 'it''s') as v, _arrival from a
