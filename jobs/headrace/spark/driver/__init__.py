"""Small batches in the driver's JVM: cached plans over buffers of rows, run on the calling thread.

Up to 20,000 rows, planning and scheduling cost ten times what the rows cost. Here a batch's rows lie in buffers in the
driver (`buffer`), plans over them are made once (`plan_cache`), run without a job (`one_partition`) and written
without one (`parquet_writer`). `batches` puts these together. `java` loads the two Java classes that this takes.

All of it uses Spark's internals, and works on the builds in `mode.TESTED`. Invariant: the rows are those of `jobs`.
"""
