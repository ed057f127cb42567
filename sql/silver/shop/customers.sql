/*
Customers as they are now: one row per customer, one change per record.

materialized: upsert
query: shop_customers
unique_key: customer_id
*/
with customer_records as (
    select customer_id, customer, changed_at, _arrival
    from stream silver.customer_records
),
customers as (
    select
        customer_id,
        customer.firstName as first_name,
        customer.lastName as last_name,
        customer.email as email,
        customer.address as address,
        customer.level as level,
        changed_at,
        _arrival
    from customer_records
)
select * from customers
