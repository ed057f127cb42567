"""The Spark session, and all access to Spark's internals, which is here and nowhere else.

Other packages call public PySpark and this package's functions (`tests/unit/test_packages.py` checks it: no `_jvm`,
`_jdf` or Py4J elsewhere, and no Java). It knows SQL texts, frames and files, and nothing of queries, landings or
publishers.

- The session: `session` makes it and its children; `jvm_lock` keeps a JVM that outlives its parent from writing;
  `parent` is the JVM of spark-submit.
- A model's text as a frame: `binding`; Python values and Arrow tables as frames: `arrow`.
- Batches: `small_batches` is the interface, `driver/` and `jobs/` implement it, `mode` and `implementations` choose.
  What they compute is `materialized`.
- Spark's error messages: `spark_errors`, and names of errors: `error_names`; which failures are transient: `failures`.
- Plans of the streaming engine: `streaming/`. `jvm` helps with Py4J.

Invariant: what is here returns the rows that plain Spark returns. It may only be faster.
"""
