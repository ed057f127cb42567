/*
Amounts: one row per record.

materialized: append
*/
select id, stamp('2026-01-01 10:00:00+02:00') as stamp, _arrival from stream silver.a
