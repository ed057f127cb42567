/*
Ids that came: one row per change.

materialized: append
*/
select id, _arrival from stream silver.current
