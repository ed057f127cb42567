/*
Times: one row per amount.

materialized: append
*/
select key as id, event_time as at, _arrival from stream bronze.a
