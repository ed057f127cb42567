"""The one partition of a plan over slots, computed on the calling thread: a job would cost more than its few rows."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

from pyspark.sql import SparkSession

from headrace.engine.slot import Rows, java_array, scala_object

_ATTEMPTS = count(1 << 40)
"""Numbers of attempts of tasks; those that Spark's scheduler gives begin at nought."""


class Partition:
    """The rows of a physical plan, computed again and again over what its slots hold by then.

    Spark computes a partition anew when a task fails, so one that depends on nothing but blocks can be had as often as
    one likes. What a job adds each time is closures that are searched and written out, a broadcast, a task that is sent
    to another thread, and the whole plan read in again there: four fifths of the time (docs/speed.md).
    """

    def __init__(self, session: SparkSession, plan: Any, at_most: int) -> None:
        """`plan` has no exchange; `at_most` is after how many rows it ends."""
        self._session = session
        self._plan = plan
        self._task = _Task(session)
        jvm: Any = session._jvm
        number, flag = jvm.java.lang.Integer.TYPE, jvm.java.lang.Boolean.TYPE
        self._rdd = _private(session, "getByteArrayRdd", number, flag).invoke(plan, _values(session, at_most, False))
        self._decode = _private(session, "decodeUnsafeRows", _class(jvm, "org.apache.spark.util.io.ChunkedByteBuffer"))
        self._tag = jvm.scala.reflect.ClassTag.apply(_class(jvm, "org.apache.spark.sql.catalyst.InternalRow"))
        self._parts = self._rdd.partitions()

    @staticmethod
    def of(session: SparkSession, plan: Any, at_most: int) -> Partition | None:
        """The partition of a plan over slots; none if rows have to be sent, or there is more than one."""
        gathered = _gathered(session, plan)
        if "Exchange" in gathered.toString():
            return None
        found = Partition(session, gathered, at_most)
        return None if len(found._parts) != 1 or "Shuffled" in found._rdd.toDebugString() else found

    def rows(self) -> Rows:
        """Compute them now."""
        with self._task.running() as context:
            encoded = self._rdd.iterator(self._parts[0], context).next()._2()
        decoded = self._decode.invoke(self._plan, _values(self._session, encoded))
        return Rows(decoded.toArray(self._tag))


def _gathered(session: SparkSession, plan: Any) -> Any:
    """The same plan where partitions are read one after another instead of being sent to a single one."""
    jvm: Any = session._jvm
    below, nodes = plan.children(), jvm.org.apache.spark.sql.execution
    former = [below.apply(number) for number in range(below.size())]
    children = [_gathered(session, child) for child in former]
    if plan.getClass().getSimpleName() == "ShuffleExchangeExec" and plan.numPartitions() == 1:
        return nodes.CoalesceExec(1, children[0])
    if all(map(operator.is_, children, former)):
        return plan
    array = java_array(session, nodes.SparkPlan, children)
    return plan.withNewChildren(jvm.scala.collection.immutable.ArraySeq.unsafeWrapArray(array))


class _Task:
    """What Spark's operators expect of the thread they run on: memory, locks of blocks, and an end."""

    def __init__(self, session: SparkSession) -> None:
        jvm: Any = session._jvm
        environment = jvm.org.apache.spark.SparkEnv.get()
        self._spark = jvm.org.apache.spark
        self._blocks = environment.blockManager()
        self._memory = environment.memoryManager()
        self._contexts = scala_object(self._spark, "TaskContext")
        self._properties = _properties(session)
        self._metrics = environment.metricsSystem(), self._spark.executor.TaskMetrics.empty()
        self._resources = self._contexts.empty().resources()
        self._no_error = jvm.scala.Option.empty()

    @contextmanager
    def running(self) -> Iterator[Any]:
        """A task of this thread while the block runs; all that it took is given back, whatever happens."""
        attempt = next(_ATTEMPTS)
        memory = self._spark.memory.TaskMemoryManager(self._memory, attempt)
        told = (0, 0, 0, attempt, 0, 1, memory, self._properties, *self._metrics, 1, self._resources)
        context = self._spark.TaskContextImpl(*told)
        self._blocks.registerTask(attempt)
        self._contexts.setTaskContext(context)
        try:
            yield context
        finally:
            try:
                context.markTaskCompleted(self._no_error)
            finally:
                self._contexts.unset()
                self._blocks.releaseAllLocksForTask(attempt)
                memory.cleanUpAllAllocatedMemory()


def _properties(session: SparkSession) -> Any:
    """A session's confs, which a task finds among its properties."""
    jvm: Any = session._jvm
    found = jvm.java.util.Properties()
    confs = scala_object(jvm.scala.jdk, "CollectionConverters").MapHasAsJava(
        session._jsparkSession.sessionState().conf().getAllConfs()
    )
    found.putAll(confs.asJava())
    return found


def _private(session: SparkSession, name: str, *taken: Any) -> Any:
    """A method of Spark's plans that has no public twin without a job."""
    jvm: Any = session._jvm
    types = java_array(session, jvm.java.lang.Class, taken)
    method = _class(jvm, "org.apache.spark.sql.execution.SparkPlan").getDeclaredMethod(name, types)
    method.setAccessible(True)
    return method


def _class(jvm: Any, name: str) -> Any:
    return jvm.java.lang.Class.forName(name)


def _values(session: SparkSession, *values: Any) -> Any:
    jvm: Any = session._jvm
    return java_array(session, jvm.java.lang.Object, values)
