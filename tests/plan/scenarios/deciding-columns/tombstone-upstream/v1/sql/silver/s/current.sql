/*
Newest amounts: one row per id.

materialized: upsert
unique_key: id
delete_when: gone
publish: {topic: current, key: id, value: {x: x}, tombstone_when: hidden, start: latest}
tests: {columns: {small: {accepted_values: {values: [true], on_failure: dead_letter}}}}
*/
select id, x, x > 10 as gone, x > 5 as hidden, x < 100 as small, y, _arrival from stream silver.a
