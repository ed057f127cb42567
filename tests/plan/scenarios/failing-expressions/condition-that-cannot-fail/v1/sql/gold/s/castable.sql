/*
Numbers: one row per amount.

materialized: append
on_error: dead_letter
*/
select id, cast(k as int) as number, k is null as unknown, _arrival from stream silver.a
