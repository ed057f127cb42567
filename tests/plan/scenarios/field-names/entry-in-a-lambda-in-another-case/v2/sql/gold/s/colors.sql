/*
Colors: one row per entry.

materialized: append
*/
select id, attrs.Color as color, transform(array(attrs), one -> one.color) as colors, _arrival
from stream silver.entries
