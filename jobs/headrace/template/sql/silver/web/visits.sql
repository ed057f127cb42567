/*
Visits of the web site, typed: one row per visit.
*/
select
    key as page,
    data.visitor as visitor,
    data.seconds as seconds,
    event_time as visited_at,
    _arrival
from stream bronze.visits
