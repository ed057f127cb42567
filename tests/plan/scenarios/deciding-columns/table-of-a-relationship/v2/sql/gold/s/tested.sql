/*
Amounts whose k has a rate: one row per amount.

materialized: append
tests: {columns: {k: [{relationships: {to: silver.rates, field: k, on_failure: dead_letter}}]}}
*/
select id, k, _arrival from stream silver.a
