/*
The newest time: one row.

materialized: upsert
unique_key: one
*/
select 1 as one, event_time as at, _arrival from stream bronze.s_clock where not is_tick
