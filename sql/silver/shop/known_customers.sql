/*
Versions of customers, those of this batch too: one row per record of a customer.
*/
with new_versions as (
    select customer_id, customer, _arrival
    from stream silver.customer_versions
),
old_versions as (
    select customer_id, customer, _arrival from silver.customer_versions
),
known_customers as (
    select * from new_versions
    union all
    select * from old_versions
)
select * from known_customers
