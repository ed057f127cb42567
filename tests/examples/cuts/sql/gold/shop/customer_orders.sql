/*
Orders of each customer: one row per customer.

materialized: upsert
run: streaming
output_mode: update
unique_key: customer
allow: {unbounded-state: the shop has so many customers and no more}
*/
select data.customer as customer, count(*) as order_count
from stream bronze.orders
group by data.customer
