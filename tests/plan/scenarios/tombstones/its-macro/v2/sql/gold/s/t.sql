/*
Amounts: one row per amount.

materialized: append
publish: {topic: told, key: id, value: {x: x}, tombstone_when: gone(x), start: latest}
*/
select id, x, _arrival from stream silver.a
