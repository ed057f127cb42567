/*
Amounts and answers, numbered in each batch by arrival: one row per record.

materialized: append
*/
with united as (
    select id, y as x, 'b' as kind, _arrival from stream silver.b
    union all
    select id, x, 'a' as kind, _arrival from stream silver.a where x > 1
)
select id, x, row_number() over (partition by _arrival order by kind, _arrival) as n, _arrival from united
