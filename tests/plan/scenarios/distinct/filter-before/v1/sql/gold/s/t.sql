/*
Moments at which a k was there: one row per k per moment.

materialized: append
*/
with a as (
    select k, x, at from stream silver.a watermark at delay of interval 30 minutes
),
moments as (
    select distinct k, at from a
)
select * from moments
