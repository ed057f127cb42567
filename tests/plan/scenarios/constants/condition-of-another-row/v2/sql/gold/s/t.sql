/*
Amounts: one row per amount.

materialized: append
*/
with a as (
    select id, k, _arrival from stream silver.a
),
letters as (
    select 'p' as letter union all select 'q' where :least > 5
)
select a.id, letters.letter, a._arrival from a join letters on a.k = letters.letter
