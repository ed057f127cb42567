/*
Texts of ids: one row per id.

materialized: upsert
unique_key: id
max_state_bytes: 1000
*/
select id, case when y > 6 then rpad('x', 2000, 'x') else 'y' end as text, _arrival from stream silver.a
