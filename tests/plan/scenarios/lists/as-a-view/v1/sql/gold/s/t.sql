/*
Amounts one by one: one row per amount of a record.

materialized: append
*/
with a as (
    select id, array(x, y) as amounts, _arrival from stream silver.a
),
one_by_one as (
    select id, explode(amounts) as amount, _arrival from a
)
select * from one_by_one
