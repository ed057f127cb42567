/*
Orders whose products are all manufactured, as a join of streams: one row per order.

materialized: upsert
unique_key: order_id
run: streaming
output_mode: update
allow:
    unbounded-join: weeks may lie between an order and its products
    unbounded-state: the rule knows no end of waiting, and this form shows its price
*/
with orders as (
    select
        order_id,
        explode(array_distinct(items.id)) as product_id,
        size(array_distinct(items.id)) as ordered_count
    from stream silver.orders
),
manufactured as (
    select order_id, product_id
    from stream silver.manufactured
),
made as (
    select orders.order_id, orders.product_id, orders.ordered_count
    from orders
    inner join manufactured
        on orders.order_id = manufactured.order_id
        and orders.product_id = manufactured.product_id
),
complete as (
    select order_id, max(ordered_count) as made_count
    from made
    group by order_id
    having size(collect_set(product_id)) = max(ordered_count)
)
select * from complete
