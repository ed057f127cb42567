/*
Orders with the level that their customer had: one row per created order.

materialized: append
query: shop_customers
once_per: order_id
publish: {topic: {column: level_topic}, key: order_id, value: {id: order_id, customerId: customer_id, customerLevel: customer_level}}
*/
with shop_orders as (
    select order_id, customer_id, state, ordered_at, _arrival
    from stream silver.shop_orders
),
known_customers as (
    select customer_id, customer, _arrival from stream silver.known_customers
),
created as (
    select * except (state) from shop_orders where state = 'CREATED'
),
with_level as (
    select
        created.order_id,
        created.customer_id,
        created.ordered_at,
        coalesce(
            max_by(known_customers.customer.level, known_customers._arrival),
            'bronze'
        ) as customer_level,
        created._arrival
    from created
    left join known_customers
        on created.customer_id = known_customers.customer_id
        and known_customers._arrival < created._arrival
    group by
        created.order_id, created.customer_id, created.ordered_at,
        created._arrival
),
enriched as (
    select *, lower(customer_level) as level_topic from with_level
)
select * from enriched
