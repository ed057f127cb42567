/*
Views of a browser in the `captcha_window` seconds up to a view: one row per view; none without `captcha_window`.
*/
with views as (
    select browser_hash, viewed_at, _arrival
    from stream silver.views
    where :captcha_window is not null
),
before as (
    select browser_hash, viewed, newest from silver.recent_views
),
countable as (
    select browser_hash, viewed_at, _arrival from views
    union all
    select browser_hash, explode(viewed), null from before
),
bounded as (
    select
        views.browser_hash,
        views.viewed_at,
        greatest(
            views.viewed_at - make_dt_interval(0, 0, 0, :captcha_window),
            greatest(before.newest, max(views.viewed_at) over (
                partition by views.browser_hash order by views._arrival
            )) - make_dt_interval(0, 0, 0, :captcha_window + 60)
        ) as begins_after,
        views._arrival
    from views
    left join before on views.browser_hash = before.browser_hash
),
counted as (
    select bounded.browser_hash, bounded._arrival, count(*) as view_count
    from bounded
    inner join countable
        on bounded.browser_hash = countable.browser_hash
        and countable.viewed_at > bounded.begins_after
        and countable.viewed_at <= bounded.viewed_at
        and coalesce(countable._arrival <= bounded._arrival, true)
    group by bounded.browser_hash, bounded._arrival
)
select * from counted
