/*
The first visit of each visitor, for Kafka: one row per visitor.

materialized: append
once_per: [visitor]
publish: {topic: first-visits, key: visitor, value: {visitor: visitor, page: page, at: visited_at}}
*/
with visits as (
    select page, visitor, visited_at, _arrival from stream silver.visits
),
known as (
    select page, visit_count, _valid_from, _valid_to
    from gold.page_visits_versions
)
select visits.visitor, visits.page, visits.visited_at, visits._arrival
from visits
left join known
    on visits.page = known.page
    and visits._arrival > known._valid_from
    and (known._valid_to is null or visits._arrival <= known._valid_to)
