/*
Newest amounts: one row per id.

materialized: upsert
unique_key: id
*/
select id, x, struct(_arrival.landing_batch, _arrival.topic, _arrival.partition, -_arrival.offset as offset) as _arrival, y from stream silver.a
