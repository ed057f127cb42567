/*
Times of views that a sliding window may still count: one row per unverified browser; none without `captcha_window`.

materialized: upsert
unique_key: browser_hash
close_when: is_verified
*/
with logs as (
    select browser_hash, event_type, happened_at, _arrival
    from stream silver.logs
    where :captcha_window is not null
),
before as (
    select browser_hash, viewed, newest from silver.recent_views
),
added as (
    select
        browser_hash,
        collect_list(happened_at) as viewed,
        max(happened_at) as newest,
        max(event_type = 'BrowserCaptchaVerified') as is_verified,
        max(_arrival) as _arrival
    from logs
    group by browser_hash
),
together as (
    select
        added.browser_hash,
        array_sort(
            concat(coalesce(before.viewed, array()), added.viewed)
        ) as viewed,
        greatest(before.newest, added.newest) as newest,
        added.is_verified,
        added._arrival
    from added
    left join before on added.browser_hash = before.browser_hash
),
kept as (
    -- a view may come a minute late and is still counted exactly
    select
        browser_hash,
        filter(
            viewed,
            moment -> moment
            > newest - make_dt_interval(0, 0, 0, :captcha_window + 60)
        ) as viewed,
        newest,
        is_verified,
        _arrival
    from together
)
select * from kept
