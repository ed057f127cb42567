/*
Ids that were seen: one row per id.

materialized: append
tests: {columns: {id: [{unique: {on_failure: dead_letter}}]}}
*/
select id, x, y, _arrival from stream silver.a where x > 2
