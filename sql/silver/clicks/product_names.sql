/*
Names of products: one row per product that has a name.

materialized: upsert
unique_key: product_id
delete_when: product_name is null
*/
with products as (
    select key, data, _arrival from stream bronze.products
),
names as (
    select key as product_id, data as product_name, _arrival from products
)
select * from names
