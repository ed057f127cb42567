/*
New orders with what the checks look at: one row per order id. An order without items is one line.
*/
with created_orders as (
    select
        order_id,
        customer_id,
        order_lines(product, quantity, price, items) as lines,
        body,
        ordered_at,
        landed_at,
        _arrival
    from stream silver.created_orders
),
measured as (
    select
        *,
        pieces_per_product(lines) as pieces,
        order_amount(lines) as amount,
        exists(lines, line -> line.quantity < 0) as has_negative_line
    from created_orders
)
select * from measured
