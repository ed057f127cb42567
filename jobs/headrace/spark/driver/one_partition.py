"""A plan with a single partition, computed on the calling thread: a job would cost more than its few rows."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession

from headrace.spark.driver.java import driver_task, plan_nodes
from headrace.spark.driver.rows import Rows
from headrace.spark.jvm import confs_of


class OnePartition:
    """The rows of a physical plan, computed again and again over what its leaves hold by then.

    Spark computes a partition again when a task fails, so one that depends on no other can be computed as often as one
    likes. What a job adds each time is closures that are cleaned and serialized, a broadcast, a task that is sent to
    another thread, and the whole plan deserialized there: four fifths of the time (docs/speed.md).
    """

    def __init__(self, session: SparkSession, rdd: Any, at_most: int) -> None:
        """`rdd` has one partition and needs no other stage; `at_most` is after how many rows it ends."""
        self._session = session
        self._task = driver_task(session)
        self._confs = confs_of(session)
        self._rdd = rdd
        self._at_most = at_most

    @staticmethod
    def of(session: SparkSession, plan: Any, at_most: int) -> OnePartition | None:
        """The only partition of a plan; none if there are others, or rows have to be sent."""
        nodes = plan_nodes(session)
        if nodes.sendsRows(plan):
            return None
        rdd = plan.execute()
        is_only = rdd.getNumPartitions() == 1 and not nodes.isShuffled(rdd)
        return OnePartition(session, rdd, at_most) if is_only else None

    def rows(self) -> Rows:
        """Compute them now."""
        return Rows(self._session, self._task.rows(self._rdd, self._at_most, self._confs))
