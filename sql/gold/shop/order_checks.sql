/*
Verdicts on orders: one row per order and check.

materialized: append
publish:
    topic: order-validations
    key: order_id
    value: {orderId: order_id, checkType: check_type, validationResult: result, reason: reason}
*/
with orders as (
    select
        order_id,
        lines,
        forall(lines, line -> line.product in (:shop_products)) as are_known,
        landed_at,
        _arrival
    from stream silver.orders_to_check
),
customer_sessions as (
    select order_id, total, is_late, landed_at, _arrival
    from stream silver.customer_sessions
),
inventory_checks as (
    select order_id, reason, checked_at, _arrival
    from stream silver.inventory_checks
),
verdicts as (
    select
        order_id,
        'ORDER_DETAILS_CHECK' as check_type,
        order_fault(lines, are_known) as reason,
        false as is_late,
        landed_at as checked_at,
        _arrival
    from orders
    union all
    select
        order_id,
        'FRAUD_CHECK',
        if(coalesce(total < :fraud_limit, false), null, 'limit_reached'),
        is_late,
        landed_at,
        _arrival
    from customer_sessions
    union all
    select
        order_id, 'INVENTORY_CHECK', reason, false, checked_at, _arrival
    from inventory_checks
),
order_checks as (
    select
        order_id,
        check_type,
        if(reason is null, 'PASS', 'FAIL') as result,
        reason,
        is_late,
        checked_at,
        _arrival
    from verdicts
)
select * from order_checks
