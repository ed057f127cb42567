/*
Amounts as JSON: one row per amount.

materialized: append
*/
with dated as (
    select id, x as date, _arrival from stream silver.a
),
fields as (
    select _arrival, date from dated
)
select to_json(struct(*)) as fields, _arrival from fields
