/*
Amounts as JSON: one row per amount.

materialized: append
*/
with a as (
    select id, k, x, y, _arrival from stream silver.a
)
select
    id,
    to_json(cast(struct(x) as struct<date: bigint>)) as told,
    _arrival
from a
where x | y & 1 > 0
