/*
Names: one row per name that landed.

materialized: append
on_error: dead_letter
*/
select data.k, data.name, _arrival from stream bronze.names
