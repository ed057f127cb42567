/*
What a batch tells of orders: one row per order, with the verdicts on it in order of arrival.
*/
with verdicts as (
    select
        order_id, check_type, result, reason, checked_at as given_at, _arrival,
        check_type = 'INVENTORY_CHECK' as is_of_stock
    from stream gold.order_checks
    union all
    select order_id, check_type, result, reason, given_at, _arrival, false
    from stream silver.external_validations
),
per_order as (
    select
        order_id,
        sort_array(collect_list(
            struct(_arrival, check_type, result, reason, given_at)
        )) as verdicts,
        bool_or(is_of_stock) as is_stock_checked
    from verdicts
    group by order_id
),
dated as (
    select *, verdicts[size(verdicts) - 1]._arrival as _arrival from per_order
)
select * from dated
