/*
Answers: one row per record.
*/
select key as id, data.k as k, data.x as x, data.y as y, event_time as at, _arrival
from stream bronze.a
