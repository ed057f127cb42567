/*
Sessions: one row per k per session.

materialized: append
columns: {ended_at: timestamp}
remember: 600
*/
with a as (
    select k, x, at from stream silver.a watermark at delay of interval :wait seconds
),
known as (
    select k, ended_at from gold.sessions
),
fresh as (
    select a.* from a left anti join known on a.k = known.k and a.at <= known.ended_at
),
sessions as (
    select k, session_window(at, '5 minutes') as session, max(at) as ended_at, count(*) as n
    from fresh
    group by k, session_window(at, '5 minutes')
)
select k, ended_at, n from sessions
