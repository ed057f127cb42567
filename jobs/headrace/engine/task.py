"""A task that no scheduler has started: what Spark's operators expect of the thread that they run on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

from pyspark.sql import SparkSession

from headrace.engine.jvm import scala_object

_ATTEMPTS = count(1 << 40)
"""Numbers of attempts of tasks; those that Spark's scheduler gives begin at nought."""


class Task:
    """Memory, locks of blocks, the confs of a session, and an end at which all is given back."""

    def __init__(self, session: SparkSession) -> None:
        jvm: Any = session._jvm
        environment = jvm.org.apache.spark.SparkEnv.get()
        self._spark = jvm.org.apache.spark
        self._blocks = environment.blockManager()
        self._memory = environment.memoryManager()
        self._contexts = scala_object(self._spark, "TaskContext")
        self._properties = _properties(session)
        self._metrics = environment.metricsSystem(), self._spark.executor.TaskMetrics.empty()
        self._resources = scala_object(jvm.scala.collection.immutable, "Map").empty()
        self._no_error = jvm.scala.Option.empty()

    @contextmanager
    def running(self) -> Iterator[Any]:
        """A task of this thread while the block runs; all that it took is given back, also if the block fails."""
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
