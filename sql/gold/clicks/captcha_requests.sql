/*
Requests that a browser solves a captcha: one row per view of an unverified browser, from its fifth on.

materialized: append
publish: {topic: captcha-requests, key: browser_hash, value: {browserHash: browser_hash, count: view_count}}
*/
with browsers as (
    select browser_hash, view_count, is_verified, changed_at, _arrival
    from stream silver.browsers
),
views_in_window as (
    select browser_hash, view_count, _arrival from stream silver.views_in_window
),
counted as (
    select
        browsers.browser_hash,
        if(
            :captcha_window is null,
            browsers.view_count,
            views_in_window.view_count
        ) as view_count,
        browsers.changed_at as requested_at,
        browsers._arrival
    from browsers
    left join views_in_window
        on browsers.browser_hash = views_in_window.browser_hash
        and browsers._arrival = views_in_window._arrival
    where not browsers.is_verified
),
requests as (
    select * from counted where view_count >= :captcha_views
)
select * from requests
