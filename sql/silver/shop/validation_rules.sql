/*
Rules that orders are held to: one row per rule, one change per record. A change counts for orders that land after it.

materialized: upsert
unique_key: name
delete_when: is_deleted
*/
with landed as (
    select key, value, data, _arrival from stream bronze.validation_rules
),
rules as (
    select
        coalesce(data.name, key) as name,
        coalesce(data.mandatory, false) as is_mandatory,
        value is null as is_deleted,
        _arrival
    from landed
)
select * from rules
