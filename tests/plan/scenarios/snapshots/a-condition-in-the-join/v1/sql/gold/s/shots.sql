/*
Amounts of both kinds: one row per amount.

materialized: snapshot
every: 5
*/
select w.id, w.x, :snapshot_at as at
from silver.w
inner join silver.w as other on w.id = other.id
where other.x > 1
