/*
Amounts: one row per amount.

materialized: append
columns: {v: array<bigint>}
*/
with a as (
    select id, x, y, _arrival from stream silver.a
)
select
    id,
    transform(array(x, y), item -> plus(item)) as v,
    _arrival
from a
