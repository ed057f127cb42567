/*
Log lines that tell of an event of a browser: one row per view of a product or verification; other lines are ignored.
*/
with landed as (
    select data, event_time, landed_at, _arrival from stream bronze.logs
),
typed as (
    select
        element_at(split(data.logger_name, '[.]'), -1) as event_type,
        data.productId as product_id,
        data.browserHash as browser_hash,
        event_time as happened_at,
        landed_at,
        _arrival
    from landed
),
events as (
    select * from typed
    where event_type in ('ViewProductEvent', 'BrowserCaptchaVerified')
)
select * from events
