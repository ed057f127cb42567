"""Plans of Spark's streaming engine: what PySpark does not show of them, and the one thing that is changed in them.

`streamability` asks whether a plan may stream; `event_times` leaves one event time on each side of a join; `batch_plan`
reads from a running batch which rows came too late and how far each source's time is; `file_list` lists a folder again.
"""
