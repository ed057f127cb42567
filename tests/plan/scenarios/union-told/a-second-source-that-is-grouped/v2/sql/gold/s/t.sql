/*
Amounts: one row per record.

materialized: append
run: streaming
*/
with united as (
    select k, x from stream silver.a
    union all
    select k, count(*) as x from stream silver.b watermark at delay of interval 1 minute group by k, window(at, '10 minutes')
)
select k, x from united
