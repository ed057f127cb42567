/*
Customers that ever ordered: one row per customer.

once_per: customer
*/
select data.customer as customer, _arrival from stream bronze.orders
