/*
Calls, put together from their halves: one row per call, once event time has passed its last half by gap and grace.

materialized: append
remember: :call_gap
columns: {first_half_at: timestamp, last_half_at: timestamp}
publish:
  topic: outputTopic
  key: pair
  value: {user1: user1, user2: user2, ts: ts, analytics: analytics, metrics: metrics}
*/
with call_halves as (
    select user1, user2, half_at, analytics, metrics, _arrival
    from stream silver.call_halves
        watermark half_at delay of interval :call_grace seconds
),
calls as (
    select user1, user2, first_half_at, last_half_at
    from gold.calls
),
-- A half of a call that has its row comes too late, also where a new session could still begin.
in_time as (
    select call_halves.*
    from call_halves
    left anti join calls
        on call_halves.user1 = calls.user1
        and call_halves.user2 = calls.user2
        and call_halves.half_at between
            calls.first_half_at - interval :call_gap seconds
            and calls.last_half_at + interval :call_gap seconds
),
sessions as (
    select
        user1,
        user2,
        session_window(half_at, concat(:call_gap, ' seconds')) as session,
        min(half_at) as first_half_at,
        max(half_at) as last_half_at,
        min_by(analytics, struct(half_at, _arrival))
            filter (where analytics is not null) as analytics,
        min_by(metrics, struct(half_at, _arrival))
            filter (where metrics is not null) as metrics
    from in_time
    group by
        user1, user2, session_window(half_at, concat(:call_gap, ' seconds'))
),
put_together as (
    select
        to_json(array(user1, user2)) as pair,
        user1,
        user2,
        unix_millis(first_half_at) as ts,
        analytics,
        metrics,
        first_half_at,
        last_half_at
    from sessions
)
select * from put_together
