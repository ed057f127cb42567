"""Rows computed once and kept in Spark's memory, and what Spark's planner is told of them."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from headrace.spark.columns import lit, no_rows
from headrace.spark.driver_java import plan_nodes
from headrace.spark.jvm import each, frame_of, kind_of, scala_sequence
from headrace.spark.session import SMALL_BATCH_ROWS

_LARGE_ROWS = 50_000
"""Up to here a commit is a single file."""


@dataclass(frozen=True)
class Materialized:
    """Rows computed once and kept in Spark's memory, with their number, until released."""

    frame: DataFrame
    count: int

    def write(self, folder: Path) -> None:
        """Write them as Parquet files into a new folder."""
        write_files(self.frame if self.count > _LARGE_ROWS else self.frame.coalesce(1), folder)

    def release(self) -> None:
        """Give the memory back; the frame must not be used any more."""
        self.frame._jdf.queryExecution().logical().rdd().unpersist(False)

    def narrowed(self, fewer: DataFrame) -> Materialized:
        """Take `fewer`, which is made of these rows, in their place."""
        found = materialize(fewer)
        self.release()
        return found

    def seen_by(self, session: SparkSession) -> DataFrame:
        """The rows as a frame of another session."""
        rows = self.frame._jdf.queryExecution().logical()
        return _over(session, rows, rows.outputPartitioning(), rows.outputOrdering(), rows.stats())


class Nothing(Materialized):
    """No rows, and Spark knows it: of a plan over them it leaves out all that would be done with them."""

    @classmethod
    def of(cls, session: SparkSession, schema: StructType) -> Nothing:
        """No rows of a schema."""
        return cls(no_rows(session, schema), 0)

    def release(self) -> None:
        """Nothing to do: no memory holds them."""


@dataclass(frozen=True)
class Files(Materialized):
    """Rows that have been written before, into a folder of their own."""

    folder: Path

    def write(self, folder: Path) -> None:
        shutil.copytree(self.folder, folder)

    def release(self) -> None:
        """Nothing to do: no memory holds them."""


def materialize(frame: DataFrame) -> Materialized:
    """Compute a frame now; its plan is cut, so plans never grow from batch to batch."""
    session, ran = frame.sparkSession, frame._jdf.queryExecution()
    rows = frame.localCheckpoint(eager=False)._jdf.queryExecution().logical()
    count = int(rows.rdd().count())  # computes and keeps every row
    place = (rows.outputPartitioning(), rows.outputOrdering())
    if count > SMALL_BATCH_ROWS and kind_of(place[0]) == "HashPartitioning":
        place = _in_own_columns(session, rows, ran.executedPlan()) or place
    return Materialized(_over(session, rows, *place, _size(session, rows, count)), count)


def count_where(rows: Materialized, condition: str) -> int:
    """How many rows hold a condition, in one stage: Spark's own count would shuffle."""
    return int(rows.frame.where(condition)._jdf.queryExecution().toRdd().count())


def write_files(rows: DataFrame, folder: Path) -> None:
    """Write rows as Parquet files into a new folder, one for each partition."""
    rows.write.option("mapreduce.fileoutputcommitter.marksuccessfuljobs", "false").parquet(str(folder))


def with_batch(rows: DataFrame, batch: int) -> DataFrame:
    """Add the bookkeeping column that names the batch a row came from."""
    return rows.withColumn("_batch", lit(batch).cast("bigint"))


def _in_own_columns(session: SparkSession, rows: Any, ran: Any) -> tuple[Any, Any] | None:
    """How rows are spread and ordered, told of their own columns; None if it hangs on others.

    Spark tells it of the columns of the plan that ran, which its optimizer may have given other names. What is told
    of columns that nobody knows is no use: who joins by them spreads and orders all rows once more.
    """
    names = {former.exprId().id(): own for former, own in zip(each(ran.output()), each(rows.output()), strict=True)}
    spread = _renamed(session, rows.outputPartitioning(), names)
    if spread is None:
        return None
    ordered = takewhile(bool, (_renamed(session, order, names) for order in each(rows.outputOrdering())))
    jvm: Any = session._jvm
    kind = jvm.org.apache.spark.sql.catalyst.expressions.SortOrder
    return spread, scala_sequence(session, kind, [*ordered])


def _renamed(session: SparkSession, expression: Any, names: Mapping[int, Any]) -> Any:
    """The same expression of columns with other names; None if it is of anything else."""
    columns = [*each(expression.children())]
    if not all(kind_of(column) == "AttributeReference" and column.exprId().id() in names for column in columns):
        return None
    jvm: Any = session._jvm
    own = [names[column.exprId().id()] for column in columns]
    kind = jvm.org.apache.spark.sql.catalyst.expressions.Expression
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
    none, sized = jvm.scala.Option.empty(), jvm.scala.Option.apply(stats)
    told = (rows.output(), rows.rdd(), spread, ordered, False, none)
    plan = jvm.org.apache.spark.sql.execution.LogicalRDD(*told, session._jsparkSession, sized, none)
    return frame_of(session, plan)
