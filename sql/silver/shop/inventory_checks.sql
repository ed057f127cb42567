/*
Whether the stock had what each order asks for: one row per order.

materialized: append
*/
with requests as (
    select
        order_id, pieces, has_negative_line, end_state, deadline, checked_at,
        checked_arrival
    from stream silver.stock_requests
),
refused_orders as (
    select order_id from stream silver.refused_orders
),
overdue as (
    select requests.order_id, min(shop_clock._arrival) as _arrival
    from requests
    inner join stream bronze.shop_clock
        on requests.deadline < shop_clock.landed_at
    where requests.checked_arrival is null
    group by requests.order_id
),
checked as (
    select
        requests.order_id,
        requests.pieces,
        requests.end_state,
        case
            when requests.has_negative_line then 'negative_quantity'
            when requests.checked_arrival is null then 'no_stock'
            when refused_orders.order_id is not null then 'out_of_stock'
        end as reason,
        if(
            requests.checked_arrival is null,
            requests.deadline,
            requests.checked_at
        ) as checked_at,
        coalesce(requests.checked_arrival, overdue._arrival) as _arrival
    from requests
    left join refused_orders on requests.order_id = refused_orders.order_id
    left join overdue on requests.order_id = overdue.order_id
),
verdicts as (
    select
        order_id,
        pieces,
        end_state,
        if(reason is null, 'PASS', 'FAIL') as result,
        reason,
        checked_at,
        _arrival
    from checked
    where _arrival is not null
)
select * from verdicts
