/*
Entries: one row per entry.

materialized: append
*/
select
    key as id,
    data.attrs,
    data.place,
    data.attrs.Color as color,
    data.x + :factor as y,
    data.place.Town as town,
    data.day + interval 1 day as due,
    data.day + interval 1 hour as soon,
    _arrival
from stream bronze.entries
