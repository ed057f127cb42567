/*
Calls as the outer join of their two halves: one row per pair of halves at most a gap apart, or per half alone.

materialized: append
publish:
  topic: outputTopic
  key: pair
  value: {user1: user1, user2: user2, ts: ts, analytics: analytics, metrics: metrics}
*/
with call_analytics as (
    select user1, user2, half_at, analytics
    from stream silver.call_analytics
        watermark half_at delay of interval :call_grace seconds
),
call_metrics as (
    select user1, user2, half_at, metrics
    from stream silver.call_metrics
        watermark half_at delay of interval :call_grace seconds
),
joined as (
    select
        coalesce(call_analytics.user1, call_metrics.user1) as user1,
        coalesce(call_analytics.user2, call_metrics.user2) as user2,
        least(call_analytics.half_at, call_metrics.half_at) as first_half_at,
        call_analytics.analytics,
        call_metrics.metrics
    from call_analytics
    full outer join call_metrics
        on call_analytics.user1 = call_metrics.user1
        and call_analytics.user2 = call_metrics.user2
        and call_analytics.half_at between
            call_metrics.half_at - interval :call_gap seconds
            and call_metrics.half_at + interval :call_gap seconds
),
put_together as (
    select
        to_json(array(user1, user2)) as pair,
        user1,
        user2,
        unix_millis(first_half_at) as ts,
        analytics,
        metrics
    from joined
)
select * from put_together
