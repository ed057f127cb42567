"""The Spark session, and the door: all that reaches into Spark's inside is here and nowhere else.

Other rooms call public PySpark and this room's functions (`tests/unit/test_packages.py` holds it: no `_jvm`, `_jdf` or
Py4J elsewhere, and no Java). It knows SQL texts, frames and files, and nothing of queries, landings or publishers.

- The session: `session` makes it and its children; `jvm_lock` keeps a JVM that outlives its parent from writing.
- A model's text as a frame: `binding`.
- Batches: `small_batches` is the interface, `driver/` and `jobs/` implement it, `mode` and `implementations` choose.
  What they compute is `materialized`.
- What Spark says when it refuses: `complaints`; which failures pass by themselves: `failures`.
- Plans of the streaming engine: `streaming/`. `jvm` helps with Py4J.

Invariant: what is here gives the rows that plain Spark gives. It may only be faster.
"""
