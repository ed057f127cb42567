/*
Paid orders whose customer is not known yet: one row per order, and none ever after.

materialized: upsert
query: shop_customers
unique_key: order_id
close_when: customer is not null
columns:
    order_id: string
    customer_id: bigint
    ordered: "struct<id: string, customerId: bigint, state: string, product: string, quantity: int, price: decimal(28, 8), items: array<struct<product: string, quantity: int, price: decimal(28, 8)>>>"
    payment: "struct<id: string, orderId: string, ccy: string, amount: decimal(28, 8)>"
    customer: "struct<id: bigint, firstName: string, lastName: string, email: string, address: string, level: string>"
    _arrival: "struct<landing_batch: bigint, topic: string, partition: int, offset: bigint>"
*/
with payment_matches as (
    select order_id, customer_id, ordered, payment, payment_arrival, _arrival
    from stream silver.payment_matches
),
known_customers as (
    select customer_id, customer, _arrival from stream silver.known_customers
),
waiting as (
    select order_id, customer_id, ordered, payment, _arrival
    from silver.pending_emails
),
first_matches as (
    -- the first payment to arrive is the one, also if another follows
    select * except (payment_arrival)
    from payment_matches
    qualify row_number() over (
        partition by order_id order by payment_arrival
    ) = 1
),
paid as (
    select *, false as is_new from waiting
    union all
    select *, true as is_new
    from first_matches
    left anti join waiting on first_matches.order_id = waiting.order_id
),
found as (
    -- the customer as known when order and payment were there, else the first news
    select
        paid.order_id,
        coalesce(
            max_by(known_customers.customer, known_customers._arrival) filter (
                where known_customers._arrival < paid._arrival
            ),
            min_by(known_customers.customer, known_customers._arrival)
        ) as customer,
        greatest(
            min(paid._arrival), min(known_customers._arrival)
        ) as _arrival
    from paid
    inner join known_customers
        on paid.customer_id = known_customers.customer_id
    group by paid.order_id
),
decided as (
    select
        paid.order_id,
        paid.customer_id,
        paid.ordered,
        paid.payment,
        found.customer,
        coalesce(found._arrival, paid._arrival) as _arrival
    from paid
    left join found on paid.order_id = found.order_id
    where paid.is_new or found.customer is not null
)
select * from decided
