/*
Times of batches: one row per landing batch.

materialized: append
*/
select event_time as at, _arrival from stream bronze.s_clock where not is_tick
