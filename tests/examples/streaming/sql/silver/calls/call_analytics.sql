/*
What was found out about calls: one row per half, between a directed pair of users.
*/
select
    data.user1,
    data.user2,
    event_time as half_at,
    data.analytics,
    cast(null as string) as metrics,
    _arrival
from stream bronze.call_analytics
