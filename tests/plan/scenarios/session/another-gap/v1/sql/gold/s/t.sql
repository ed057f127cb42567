/*
Sessions of amounts: one row per k per session.

materialized: append
*/
with a as (
    select k, x, at from stream silver.a watermark at delay of interval 1 minute
),
sessions as (
    select k, session_window(at, '5 minutes') as session, count(*) as n
    from a
    group by k, session_window(at, '5 minutes')
)
select k, session.start as started_at, n from sessions
