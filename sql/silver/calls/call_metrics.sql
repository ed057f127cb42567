/*
What was measured of calls: one row per half, between a directed pair of users.
*/
select
    data.user1,
    data.user2,
    event_time as half_at,
    cast(null as string) as analytics,
    data.metrics,
    _arrival
from stream bronze.call_metrics
