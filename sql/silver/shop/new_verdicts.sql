/*
Verdicts of a batch, of the shop's own checks and of others: one row per order.
*/
with order_checks as (
    select
        order_id, check_type, result, reason, checked_at as given_at, _arrival
    from stream gold.order_checks
),
external_validations as (
    select order_id, check_type, result, reason, given_at, _arrival
    from stream silver.external_validations
),
verdicts as (
    select *, check_type = 'INVENTORY_CHECK' as is_of_stock from order_checks
    union all
    select *, false from external_validations
),
per_order as (
    select
        order_id,
        sort_array(collect_list(
            struct(_arrival, check_type, result, reason, given_at)
        )) as verdicts,
        bool_or(is_of_stock) as is_stock_checked,
        max(_arrival) as _arrival
    from verdicts
    group by order_id
)
select * from per_order
