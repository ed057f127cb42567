"""What each platform needs in order to run a project, as text.

- `submission`: the facts about a project that every platform needs, read from its files without resolving a secret.
- `spark_submit`: the command for a standalone or a YARN cluster.
- `kubernetes`: a `SparkApplication` for the Spark operator.
- `databricks`: a job for the Jobs API.
- `emr`: a step for EMR on EC2.

Invariants: no function here reads or writes anything but the project's own files, and no text ever holds a secret: a
value that is a reference (`env:`, `file:`) stays a reference, and the driver resolves it. All Python runs on the
driver; executors need nothing of headrace, and get the jars of `headrace setup` from the driver.
"""
