/*
Created orders of a customer in a window: one row per customer and window, one change per order. A window that ended a
day before the customer's newest order is forgotten, and an order of such a window counts nowhere.

materialized: upsert
query: shop_customers
unique_key: [customer_id, window_start]
delete_when: is_forgotten
*/
with orders as (
    select
        order_id,
        customer_id,
        ordered_at,
        tumbling_start(ordered_at, :frequent_window) as window_start,
        _arrival
    from stream silver.created_orders
),
before as (
    select customer_id, window_start, order_count, newest_at
    from silver.order_counts
),
newest_before as (
    select customer_id, max(newest_at) as newest_at
    from before
    group by customer_id
),
dated as (
    select
        orders.*,
        greatest(
            newest_before.newest_at,
            max(orders.ordered_at) over (
                partition by orders.customer_id order by orders._arrival
            )
        ) as newest_at
    from orders
    left join newest_before on orders.customer_id = newest_before.customer_id
),
in_time as (
    select *
    from dated
    where not is_day_behind(window_start, :frequent_window, newest_at)
),
counted as (
    select
        in_time.customer_id,
        in_time.window_start,
        in_time.order_id,
        cast(coalesce(before.order_count, 0) + count(*) over (
            partition by in_time.customer_id, in_time.window_start
            order by in_time._arrival
        ) as int) as order_count,
        in_time.newest_at,
        false as is_forgotten,
        in_time._arrival
    from in_time
    left join before
        on in_time.customer_id = before.customer_id
        and in_time.window_start = before.window_start
),
newest as (
    select
        customer_id, max(newest_at) as newest_at, max(_arrival) as _arrival
    from dated
    group by customer_id
),
windows as (
    select customer_id, window_start from before
    union
    select customer_id, window_start from counted
),
forgotten as (
    select
        windows.customer_id,
        windows.window_start,
        cast(null as string) as order_id,
        cast(null as int) as order_count,
        newest.newest_at,
        true as is_forgotten,
        newest._arrival
    from windows
    inner join newest on windows.customer_id = newest.customer_id
    where
        is_day_behind(
            windows.window_start, :frequent_window, newest.newest_at
        )
),
changes as (
    select * from counted
    union all
    select * from forgotten
)
select * from changes
