/*
Verdicts that others give: one row per order and rule, the first that came; also if the order is yet to come.

materialized: upsert
unique_key: [order_id, check_type]
columns:
    order_id: string
    check_type: string
    result: string
    reason: string
    given_at: timestamp
*/
with landed as (
    select
        data.orderId as order_id,
        data.checkType as check_type,
        data.validationResult as result,
        data.reason as reason,
        landed_at as given_at,
        _arrival
    from stream bronze.external_validations
),
known as (
    select order_id, check_type from silver.external_validations
),
numbered as (
    select
        *,
        row_number() over (
            partition by order_id, check_type order by _arrival
        ) as number
    from landed
),
firsts as (
    select numbered.* except (number)
    from numbered
    left anti join known
        on numbered.order_id = known.order_id
        and numbered.check_type = known.check_type
    where numbered.number = 1
)
select * from firsts
