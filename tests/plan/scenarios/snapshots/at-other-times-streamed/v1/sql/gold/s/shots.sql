/*
Amounts: one row per amount.

materialized: snapshot
every: 5
*/
select id, x, :snapshot_at as at from silver.w
