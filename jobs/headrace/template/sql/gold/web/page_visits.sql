/*
Visits of each page so far: one row per page, one change per visit.

materialized: upsert
unique_key: page
columns:
    page: string
    visit_count: bigint
    long_visit_count: bigint
    changed_at: timestamp
*/
with visits as (
    select page, seconds, visited_at, _arrival from stream silver.visits
),
before as (
    -- this table itself, as it was before the batch
    select page, visit_count, long_visit_count from gold.page_visits
),
changes as (
    select
        visits.page,
        coalesce(before.visit_count, 0) + count(*) over (
            partition by visits.page order by visits._arrival
        ) as visit_count,
        coalesce(before.long_visit_count, 0)
        + count_if(visits.seconds >= :long_visit) over (
            partition by visits.page order by visits._arrival
        ) as long_visit_count,
        visits.visited_at as changed_at,
        visits._arrival
    from visits
    left join before on visits.page = before.page
)
select * from changes
