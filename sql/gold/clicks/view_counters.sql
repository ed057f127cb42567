/*
The counters of all products every few seconds: one row per product and snapshot.

materialized: snapshot
every: :snapshot_every
publish: {topic: counter_topic, key: product_id, value: {productId: product_id, count: view_count, snapshotAt: snapshot_ms}}
*/
with view_totals as (
    select product_id, view_count from silver.view_totals
),
counters as (
    select
        product_id,
        view_count,
        :snapshot_at as snapshot_at,
        unix_millis(:snapshot_at) as snapshot_ms
    from view_totals
)
select * from counters
