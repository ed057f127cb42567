/*
Amounts with their answer, or none: one row per amount per answer.

materialized: append
*/
with a as (
    select id, x, at from stream silver.a watermark at delay of interval 1 minute
),
b as (
    select id, 1 as answers, at from stream silver.b watermark at delay of interval 1 minute
),
answered as (
    select a.id, a.x, b.answers
    from a
    left join b
        on a.id = b.id
        and b.at between a.at and a.at + interval 10 minutes
)
select id, x, answers from answered
