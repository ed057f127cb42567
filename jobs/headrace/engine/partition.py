"""The only partition of a plan, computed on the calling thread: a job would cost more than its few rows."""

from __future__ import annotations

import operator
from typing import Any

from pyspark.sql import SparkSession

from headrace.engine.jvm import java_class, method, objects, scala_sequence
from headrace.engine.slot import Rows, row_tag
from headrace.engine.task import Task

# Neither method has a public twin that starts no job.
_PLAN = "org.apache.spark.sql.execution.SparkPlan"
_BUFFER = "org.apache.spark.util.io.ChunkedByteBuffer"


class Partition:
    """The rows of a physical plan, computed again and again over what its leaves hold by then.

    Spark computes a partition anew when a task fails, so one that depends on no other can be had as often as one likes.
    What a job adds each time is closures that are searched and written out, a broadcast, a task that is sent to another
    thread, and the whole plan read in again there: four fifths of the time (docs/speed.md).
    """

    def __init__(self, session: SparkSession, plan: Any, at_most: int) -> None:
        """`plan` has no exchange; `at_most` is after how many rows it ends."""
        self._session = session
        self._plan = plan
        self._task = Task(session)
        jvm: Any = session._jvm
        number, flag = jvm.java.lang.Integer.TYPE, jvm.java.lang.Boolean.TYPE
        self._rdd = method(session, _PLAN, "getByteArrayRdd", number, flag).invoke(
            plan, objects(session, at_most, False)
        )
        self._decode = method(session, _PLAN, "decodeUnsafeRows", java_class(session, _BUFFER))
        self._tag = row_tag(session)
        self._parts = self._rdd.partitions()

    @staticmethod
    def of(session: SparkSession, plan: Any, at_most: int) -> Partition | None:
        """The only partition of a plan; none if there are others, or rows have to be sent."""
        if "Exchange" in plan.toString():
            return None
        found = Partition(session, plan, at_most)
        return None if len(found._parts) != 1 or "Shuffled" in found._rdd.toDebugString() else found

    def rows(self) -> Rows:
        """Compute them now."""
        with self._task.running() as context:
            encoded = self._rdd.iterator(self._parts[0], context).next()._2()
        decoded = self._decode.invoke(self._plan, objects(self._session, encoded))
        return Rows(decoded.toArray(self._tag))


def gathered(session: SparkSession, plan: Any) -> Any:
    """The same plan where partitions are read one after another instead of being sent to a single one."""
    jvm: Any = session._jvm
    below, nodes = plan.children(), jvm.org.apache.spark.sql.execution
    former = [below.apply(number) for number in range(below.size())]
    children = [gathered(session, child) for child in former]
    if plan.getClass().getSimpleName() == "ShuffleExchangeExec" and plan.numPartitions() == 1:
        return nodes.CoalesceExec(1, children[0])
    if all(map(operator.is_, children, former)):
        return plan
    return plan.withNewChildren(scala_sequence(session, nodes.SparkPlan, children))
