"""What starts, waits, retries and stops.

- `runner`: opens the queries of a project and runs each as a task, under one lock of the data directory.
- `tasks`: landing, group, snapshot, streaming query and publisher behind one interface; `factory` makes the queries.
- `supervisor`: what can pass is tried again after 1 to 30 seconds; what cannot ends that query, and the others go on.
- `refill`: queries beside the running ones, which process again all that has landed: a rebuild.

Rules: a stop comes between two steps, never inside one. A query that cannot be opened fails alone.
"""
