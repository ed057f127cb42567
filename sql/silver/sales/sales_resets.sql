/*
Events at which a total restarts at zero: one row per hit of the target under the policy reset_on_hit, else none.
*/
with sales as (
    select product, value, _arrival
    from stream silver.sales
    where :sales_policy = 'reset_on_hit'
),
in_order as (
    select
        product,
        sort_array(collect_list(struct(_arrival, value))) as events
    from sales
    group by product
),
hits as (
    -- a deletion has no value: its sum is unknown, and the next sum starts at zero
    select
        in_order.product,
        explode(
            aggregate(
                in_order.events,
                struct(
                    cast(
                        coalesce(sales_totals.total, 0) as decimal(38, 0)
                    ) as total,
                    slice(in_order.events._arrival, 1, 0) as hits
                ),
                (so_far, event) -> struct(
                    if(
                        coalesce(
                            so_far.total + event.value < :sales_threshold, false
                        ),
                        cast(so_far.total + event.value as decimal(38, 0)),
                        cast(0 as decimal(38, 0))
                    ) as total,
                    if(
                        so_far.total + event.value >= :sales_threshold,
                        concat(so_far.hits, array(event._arrival)),
                        so_far.hits
                    ) as hits
                ),
                so_far -> so_far.hits
            )
        ) as _arrival
    from in_order
    left join silver.sales_totals on in_order.product = sales_totals.product
)
select * from hits
