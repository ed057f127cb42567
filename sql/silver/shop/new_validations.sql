/*
Verdicts that others have given in a batch: one row per order.
*/
with verdicts as (
    select order_id, check_type, result, reason, given_at, _arrival
    from stream silver.external_validations
),
per_order as (
    select
        order_id,
        collect_list(struct(_arrival, check_type, result, reason, given_at))
            as verdicts,
        max(_arrival) as _arrival
    from verdicts
    group by order_id
)
select * from per_order
