/*
Both kinds of halves: one row per half, with what the other kind would tell left open.
*/
with call_analytics as (
    select user1, user2, half_at, analytics, metrics, _arrival
    from stream silver.call_analytics
),
call_metrics as (
    select user1, user2, half_at, analytics, metrics, _arrival
    from stream silver.call_metrics
),
call_halves as (
    select * from call_analytics
    union all
    select * from call_metrics
)
select * from call_halves
