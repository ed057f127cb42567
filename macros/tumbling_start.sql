-- The start of the tumbling window that a time lies in; windows of so many seconds, aligned to the epoch.
create temporary function tumbling_start(moment timestamp, seconds int)
returns timestamp
return timestamp_seconds(unix_seconds(moment) - pmod(unix_seconds(moment), seconds))
