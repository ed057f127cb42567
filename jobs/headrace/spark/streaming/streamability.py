"""Whether Spark's streaming engine can run a plan, asked of its own checker; nothing is started."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from headrace.spark.columns import no_rows
from headrace.spark.jvm import each, frame_of, java_class, kind_of, scala_object


def refuse_unstreamable(session: SparkSession, frame: DataFrame, update: bool) -> None:
    """AnalysisException where the streaming engine cannot run a frame over streams, in update or append mode."""
    jvm: Any = session._jvm
    modes = java_class(jvm, "org.apache.spark.sql.streaming.OutputMode")
    checker = java_class(jvm, "org.apache.spark.sql.catalyst.analysis.UnsupportedOperationChecker")
    checker.checkForStreaming(frame._jdf.queryExecution().analyzed(), modes.Update() if update else modes.Append())


def left_out(session: SparkSession, frame: DataFrame) -> tuple[str, ...]:
    """The views with a watermark that Spark leaves out of what it runs, as no row depends on them.

    It waits for such a watermark all the same (4.2), and no window is ever closed. An example is the outer side of a
    join of which nothing is used below a `group by` without aggregates.
    """
    plan = frame._jdf.queryExecution().analyzed()
    optimizer = session._jsparkSession.sessionState().optimizer()
    run = dict(_watermarks(optimizer.execute(plan)))
    return tuple(view for number, view in _watermarks(plan) if number not in run)


def _watermarks(plan: Any) -> Iterator[tuple[str, str]]:
    """The number of each watermark in a plan, and the view that it is on; empty for none."""
    if kind_of(plan) == "EventTimeWatermark":
        below = plan.child()
        yield str(plan.nodeId()), str(below.identifier().name()) if kind_of(below) == "SubqueryAlias" else ""
    for child in each(plan.children()):
        yield from _watermarks(child)


def as_stream(session: SparkSession, schema: StructType) -> DataFrame:
    """A stream with some columns, which is never started."""
    columns = no_rows(session, schema)._jdf.queryExecution().analyzed().output()
    jvm: Any = session._jvm
    nothing, none = scala_object(jvm, "scala.collection.immutable.Nil"), java_class(jvm, "scala.Option").empty()
    moving = java_class(jvm, "org.apache.spark.sql.catalyst.plans.logical.LocalRelation")(columns, nothing, True, none)
    return frame_of(session, moving)
