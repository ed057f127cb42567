/*
Records in ten minutes: one row per window.

materialized: append
*/
with a as (
    select at, came from stream silver.all watermark at delay of interval :wait seconds
),
counted as (
    select window(at, '10 minutes') as ten, count(*) as n, max(came) as last from a group by window(at, '10 minutes')
)
select ten.start as started_at, n, last from counted
