-- Whether a window of so many seconds ended a day or more before a time.
create temporary function is_day_behind(window_start timestamp, seconds int, newest timestamp)
returns boolean
return window_start + make_dt_interval(1, 0, 0, seconds) <= newest
