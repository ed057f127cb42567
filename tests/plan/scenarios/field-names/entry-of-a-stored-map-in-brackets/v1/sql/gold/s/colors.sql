/*
Colors: one row per entry.

materialized: append
*/
select id, attrs.Color as color, transform(array(attrs), one -> one.Color) as colors, _arrival
from stream silver.entries
