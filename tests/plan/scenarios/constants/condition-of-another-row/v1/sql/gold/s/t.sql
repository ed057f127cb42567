/*
Amounts: one row per amount.

materialized: append
*/
with a as (
    select id, k, _arrival from stream silver.a
),
letters as (
    select 'p' as letter where :least > 5 union all select 'q'
)
select a.id, letters.letter, a._arrival from a join letters on a.k = letters.letter
