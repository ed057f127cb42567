/*
Customers as they are: one row per customer, one change per record.

materialized: upsert
unique_key: customer
*/
select key as customer, data.name as name, _arrival from stream bronze.customers
