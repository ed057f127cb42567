"""Jobs that fetch rows partition by partition, and what Spark's scheduler must forget of them."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from pyspark.sql import DataFrame, Row, SparkSession


def one_by_one(rows: DataFrame) -> Generator[Row, None, None]:
    """The rows in their order, never all of them in memory."""
    try:
        yield from rows.toLocalIterator(prefetchPartitions=True)
    finally:
        forget_ended(rows.sparkSession)


def forget_ended(spark: SparkSession) -> None:
    """Let the scheduler forget the jobs of SQL executions that have ended.

    It does so by itself when an execution ends, but `toLocalIterator` starts its jobs after that. They
    would stay for as long as the application runs, and their plans, sessions and tables with them.
    """
    context: Any = spark.sparkContext
    scheduler, sql = context._jsc.sc().dagScheduler(), context._jvm.org.apache.spark.sql.execution
    for execution in [*scheduler.activeQueryToJobs().keySet()]:
        if sql.SQLExecution.getQueryExecution(execution) is None:
            scheduler.cleanupQueryJobs(execution)
