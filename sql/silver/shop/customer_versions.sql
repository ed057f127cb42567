/*
What was known of a customer since when, for orders that are looked at later: one row per record of a customer.

materialized: upsert
query: shop_customers
unique_key: [customer_id, _arrival]
*/
select customer_id, customer, _arrival from stream silver.customer_records
