/*
Views of products: one row per view.
*/
with logs as (
    select
        event_type, product_id, browser_hash, happened_at, landed_at, _arrival
    from stream silver.logs
),
views as (
    select
        product_id,
        browser_hash,
        happened_at as viewed_at,
        landed_at,
        _arrival
    from logs
    where event_type = 'ViewProductEvent'
)
select * from views
