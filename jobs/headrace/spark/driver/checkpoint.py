"""Any number of rows, computed once and held by Spark's executors, with the statistics for Spark's planner."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import takewhile
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from headrace.spark.driver.java import plan_nodes
from headrace.spark.jvm import each, frame_of, java_class, kind_of, scala_sequence
from headrace.spark.materialized import Materialized
from headrace.spark.session import SMALL_BATCH_ROWS


class Checkpointed(Materialized):
    """Rows in the executors' memory and on their disks."""

    def release(self) -> None:
        self.frame._jdf.queryExecution().logical().rdd().unpersist(False)

    def narrowed(self, fewer: DataFrame) -> Materialized:
        found = checkpoint(fewer)
        self.release()
        return found

    def seen_by(self, session: SparkSession) -> DataFrame:
        rows = self.frame._jdf.queryExecution().logical()
        return _over(session, rows, rows.outputPartitioning(), rows.outputOrdering(), rows.stats())

    def count_where(self, condition: str) -> int:
        """In one stage: Spark's own count would shuffle."""
        return int(self.frame.where(condition)._jdf.queryExecution().toRdd().count())


def checkpoint(frame: DataFrame) -> Checkpointed:
    """Compute a frame now; its plan is cut, so plans never grow from batch to batch."""
    session, ran = frame.sparkSession, frame._jdf.queryExecution()
    rows = frame.localCheckpoint(eager=False)._jdf.queryExecution().logical()
    count = int(rows.rdd().count())  # computes and keeps every row
    place = (rows.outputPartitioning(), rows.outputOrdering())
    if count > SMALL_BATCH_ROWS and kind_of(place[0]) == "HashPartitioning":
        place = _in_own_columns(session, rows, ran.executedPlan()) or place
    return Checkpointed(_over(session, rows, *place, _size(session, rows, count)), count)


def _in_own_columns(session: SparkSession, rows: Any, ran: Any) -> tuple[Any, Any] | None:
    """How rows are partitioned and ordered, in terms of their own columns; None if other columns are needed.

    Spark reports it for the columns of the plan that ran, which its optimizer may have renamed. For columns that no
    other plan knows it is useless: a join by them shuffles and sorts all rows again.
    """
    names = {former.exprId().id(): own for former, own in zip(each(ran.output()), each(rows.output()), strict=True)}
    spread = _renamed(session, rows.outputPartitioning(), names)
    if spread is None:
        return None
    ordered = takewhile(bool, (_renamed(session, order, names) for order in each(rows.outputOrdering())))
    jvm: Any = session._jvm
    kind = java_class(jvm, "org.apache.spark.sql.catalyst.expressions.SortOrder")
    return spread, scala_sequence(session, kind, [*ordered])


def _renamed(session: SparkSession, expression: Any, names: Mapping[int, Any]) -> Any:
    """The same expression of columns with other names; None if it is of anything else."""
    columns = [*each(expression.children())]
    if not all(kind_of(column) == "AttributeReference" and column.exprId().id() in names for column in columns):
        return None
    jvm: Any = session._jvm
    own = [names[column.exprId().id()] for column in columns]
    kind = java_class(jvm, "org.apache.spark.sql.catalyst.expressions.Expression")
    return expression.withNewChildren(scala_sequence(session, kind, own))


def _size(session: SparkSession, rows: Any, count: int) -> Any:
    """Statistics that say how many rows were cut off, so that the smaller side of a join is sent to the larger one.

    By itself Spark takes the product of what was joined, and keeps it with the rows: few rows count as many, and what
    reads its own past doubles the digits of that number with every batch, until planning takes minutes.
    """
    return plan_nodes(session).ofRows(rows, count)


def _over(session: SparkSession, rows: Any, spread: Any, ordered: Any, stats: Any) -> DataFrame:
    """The rows of a plan that was cut, read by a session."""
    jvm: Any = session._jvm
    none, sized = java_class(jvm, "scala.Option").empty(), java_class(jvm, "scala.Option").apply(stats)
    columns = (rows.output(), rows.rdd(), spread, ordered, False, none)
    plan = java_class(jvm, "org.apache.spark.sql.execution.LogicalRDD")(*columns, session._jsparkSession, sized, none)
    return frame_of(session, plan)
