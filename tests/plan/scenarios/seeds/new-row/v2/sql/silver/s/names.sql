/*
Names: one row per name that landed.

materialized: append
*/
select data.k, data.name, _arrival from stream bronze.names
