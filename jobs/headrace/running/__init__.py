"""What starts, waits, retries and stops.

- `runner`: opens the queries of a project and runs each as a task, under one lock of the data directory; `publishers`
  are opened last, as each has to find its position first.
- `tasks/`: landing, group, snapshot, streaming query and publisher behind one interface; `factory` makes the queries.
- `supervisor`: transient failures are retried after 1 to 30 seconds; any other ends that query only.
- `upkeep`: maintenance of all tables while they are in use; `log_readers` says which part of a log somebody needs.
- `positions`: every recorded position, compared with what exists before anything starts.
- `pace`: how long a landing waits from one batch to the next.
- `refill`: a rebuild: queries beside the running ones that process all landed records again.

Rules: a stop takes effect between two steps, never within one. A query that cannot be opened fails alone.
"""
