/*
Views of each browser until it is verified: one row per browser, one change per event, and none ever after.

materialized: upsert
unique_key: browser_hash
close_when: is_verified
*/
with logs as (
    select browser_hash, event_type, happened_at, _arrival
    from stream silver.logs
),
before as (
    select browser_hash, view_count from silver.browsers
),
counted as (
    select
        logs.browser_hash,
        coalesce(before.view_count, 0)
        + count_if(logs.event_type = 'ViewProductEvent') over (
            partition by logs.browser_hash order by logs._arrival
        ) as view_count,
        max(logs.event_type = 'BrowserCaptchaVerified') over (
            partition by logs.browser_hash order by logs._arrival
        ) as is_verified,
        logs.happened_at as changed_at,
        logs._arrival
    from logs
    left join before on logs.browser_hash = before.browser_hash
)
select * from counted
