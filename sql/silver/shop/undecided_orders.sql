/*
Orders without an outcome, and new ones: one row per order. A new order is held to the rules in force when it landed.
*/
with new_orders as (
    select order_id, body, pieces, landed_at, _arrival
    from stream silver.orders_to_check
),
mandatory_rules as (
    select valid_from, valid_until, names from stream silver.mandatory_rules
),
early_validations as (
    select
        order_id,
        sort_array(collect_list(
            struct(_arrival, check_type, result, reason, given_at)
        )) as verdicts
    from silver.external_validations
    group by order_id
),
orders as (
    select
        new_orders.order_id,
        new_orders.body,
        new_orders.pieces,
        mandatory_rules.names as rules,
        coalesce(early_validations.verdicts, array()) as verdicts,
        false as is_stock_checked,
        null as end_state,
        null as state,
        null as reason,
        new_orders.landed_at,
        new_orders._arrival as created_arrival,
        true as is_new
    from new_orders
    inner join mandatory_rules
        on coalesce(mandatory_rules.valid_from < new_orders._arrival, true)
        and coalesce(new_orders._arrival < mandatory_rules.valid_until, true)
    left join early_validations
        on new_orders.order_id = early_validations.order_id
    union all
    select
        order_id, body, pieces, rules, verdicts, is_stock_checked, end_state,
        state, reason, landed_at, created_arrival, false
    from silver.pending_orders
)
select * from orders
