/*
Amounts one by one: one row per amount of a record.

materialized: append
*/
with a as (
    select id, array(x, y) as amounts, _arrival from stream silver.a
),
one_by_one as (
    select id, amount, _arrival
    from a
    lateral view outer explode(filter(amounts, one -> one > 5)) as amount
)
select * from one_by_one
