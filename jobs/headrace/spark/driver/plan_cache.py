"""A physical plan that is made once and run again and again."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from headrace.spark.driver.java import plan_nodes
from headrace.spark.driver.one_partition import OnePartition
from headrace.spark.driver.rows import Rows
from headrace.spark.jvm import java_class, scala_object

_BROADCASTS = "spark.sql.autoBroadcastJoinThreshold"


class CachedPlan:
    """The physical plan of a frame, run again and again over what the frame's leaves hold by then."""

    def __init__(self, frame: DataFrame, leaves: tuple[DataFrame, ...], at_most: int) -> None:
        """`leaves` are the frames it is built from; it ends after `at_most` rows."""
        self.schema = frame.schema
        self._leaves = leaves
        self._at_most = at_most
        self._jvm: Any = frame.sparkSession._jvm
        self._session = frame.sparkSession
        self._made = _planned(frame)
        self._activate()
        self._plan = self._narrow()
        self._partition = OnePartition.of(frame.sparkSession, self._plan, at_most)
        self._lasts: bool | None = None

    def _narrow(self) -> Any:
        """The plan of a single partition, without an exchange where all rows are in buffers."""
        nodes, plan = plan_nodes(self._session), self._made.executedPlan()
        reads_buffers = nodes.readsBlocksOnly(self._made.optimizedPlan())
        return nodes.single(nodes.gathered(plan) if reads_buffers else plan)

    def is_valid_for(self, leaves: tuple[DataFrame, ...]) -> bool:
        """Whether it would be the same if it were made again, over these frames."""
        same = len(leaves) == len(self._leaves) and all(map(operator.is_, leaves, self._leaves))
        return same and self._is_lasting()

    def rows(self) -> Rows:
        """Run it now. What runs as a job is a copy, since each node of a plan remembers what it has found out."""
        self._activate()
        if self._partition:
            return self._partition.rows()
        return Rows(self._session, self._plan.clone().executeTake(self._at_most))

    def _activate(self) -> None:
        """New nodes of a plan take the session that is active on this thread."""
        session: Any = self._session
        java_class(self._jvm, "org.apache.spark.sql.classic.SparkSession").setActiveSession(session._jsparkSession)

    def _is_lasting(self) -> bool:
        """Whether it holds no value that was true for one batch only: of a subquery, the clock or chance."""
        if self._lasts is None:
            patterns = scala_object(self._jvm, "org.apache.spark.sql.catalyst.trees.TreePattern")
            optimized = self._made.optimizedPlan()
            asks = optimized.containsPattern(patterns.PLAN_EXPRESSION())
            looks_at_clock = self._made.analyzed().containsPattern(patterns.CURRENT_LIKE())
            self._lasts = optimized.deterministic() and not asks and not looks_at_clock
        return self._lasts


def _planned(frame: DataFrame) -> Any:
    """The plan of a frame. Rows that are all in buffers are joined without a broadcast, which would be another job."""
    made: Any = frame._jdf.queryExecution()
    if plan_nodes(frame.sparkSession).readsBlocksOnly(made.optimizedPlan()):
        with _without_broadcasts(frame.sparkSession):
            made.executedPlan()
    return made


@contextmanager
def _without_broadcasts(session: SparkSession) -> Iterator[None]:
    former = str(session.conf.get(_BROADCASTS))
    session.conf.set(_BROADCASTS, "-1")
    try:
        yield
    finally:
        session.conf.set(_BROADCASTS, former)
