/*
Payments of an account in ten seconds: one row per account per ten seconds, once they are over.

materialized: append
publish: {topic: spans, key: account, value: {start: window_start, payments: payment_count, amount: amount}}
*/
with payments as (
    select account, amount, is_closing, event_time
    from stream silver.payments
        watermark event_time delay of interval 5 seconds
),
spans as (
    select
        account,
        window(event_time, '10 seconds') as span,
        count(*) as payment_count,
        sum(amount) as amount
    from payments
    where not is_closing
    group by account, window(event_time, '10 seconds')
),
final as (
    select
        account,
        span.start as window_start,
        span.end as window_end,
        payment_count,
        amount
    from spans
)
select * from final
