"""What Spark's streaming engine knows of the batch that it is running: its plan, watermarks, and what came too late."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.classic.column import Column as ClassicColumn
from pyspark.sql.functions import lit
from pyspark.sql.streaming.query import StreamingQuery

from headrace.spark.driver.java import plan_nodes
from headrace.spark.jvm import each, frame_of, java_class
from headrace.store.paths import StorePath, spark_uri

LATE_COLUMNS = {"key": "string", "event_time": "timestamp", "watermark": "timestamp"}

_TAG = "spark.watermarkDelayMs"
"""Spark marks the columns that have a watermark with this."""

_NEVER = 0
"""Spark's watermark before the first event."""


@dataclass(frozen=True)
class SourceTime:
    """How far the event time of one watermarked stream got in a batch; None if nothing came."""

    stream: str
    newest: int | None


class BatchPlan:
    """The batch that a query is running; ask once its rows are computed. Spark plans nodes, py4j hands them over."""

    def __init__(self, reader: SparkSession, running: StreamingQuery, views: dict[str, str]) -> None:
        """`reader` is a session that may run a part of a streaming plan as it stands.

        `views` is what earlier batches of the run have found out about their streams: the names do not change.
        """
        query: Any = running._jsq
        self._execution = query.streamingQuery().lastExecution()
        self._reader = reader
        self._views = views
        self._jvm: Any = reader._jvm
        self._nodes = plan_nodes(reader)

    @cached_property
    def late_before(self) -> int:
        """The watermark, in milliseconds, behind which the rows of this batch came too late."""
        return max((_or_never(node.eventTimeWatermarkForLateEvents()) for node in self._stateful), default=_NEVER)

    @cached_property
    def closed_before(self) -> int:
        """The watermark, in milliseconds, up to which this batch has emitted results."""
        return max((_or_never(node.eventTimeWatermarkForEviction()) for node in self._stateful), default=_NEVER)

    @cached_property
    def source_times(self) -> tuple[SourceTime, ...]:
        """The streams with a watermark, in the order of the plan; named as the views that they are read from."""
        watermarks = self._nodes.named(self._execution.executedPlan(), _WATERMARK)
        stats = [(node.nodeId().toString(), node.eventTimeStats().value()) for node in watermarks]
        if any(at not in self._views for at, _ in stats):
            found = self._nodes.named(self._logical, _WATERMARK)
            self._views.update({node.nodeId().toString(): self._view_below(node) for node in found})
        return tuple(SourceTime(self._views[at], times.max() if times.count() else None) for at, times in stats)

    def late(self, own: StorePath | None) -> DataFrame | None:
        """The rows that came too late: those that Spark dropped, and those that the model took out by its own rows."""
        if not any(time.newest is not None for time in self.source_times):
            return None
        found = [*self._dropped(), *(self._excluded(own) if own else ())]
        return self._at_rest(reduce(DataFrame.unionAll, found)) if found else None

    def _dropped(self) -> Iterator[DataFrame]:
        """Behind the watermark, before the first step with state: Spark's own count is of groups, and of all steps."""
        if any(node.metrics().apply(_DROPPED).value() for node in self._stateful):
            for plan, keys, times in _entrances(self._logical, self._jvm):
                for time in times[:1]:
                    column = self._column(time)
                    passed = column.getField("end") if _is_struct(time) else column
                    rows = self._frame(plan).where(passed <= F.timestamp_millis(lit(self.late_before)))
                    yield self._keyed(rows, plan, keys)

    def _excluded(self, own: StorePath) -> Iterator[DataFrame]:
        """What an anti join with the model's own table took out."""
        for join in self._nodes.named(self._logical, "Join"):
            is_anti = join.joinType().sql() == "LEFT ANTI" and join.left().isStreaming()
            if is_anti and any(spark_uri(own) in _paths(leaf) for leaf in each(join.right().collectLeaves())):
                semi = java_class(self._jvm, "org.apache.spark.sql.catalyst.plans.JoinType").apply("leftsemi")
                plan = join.copy(join.left(), join.right(), semi, join.condition(), join.hint())
                yield self._keyed(self._frame(plan), join.left(), _equal_keys(self._jvm, join)[0])

    def _view_below(self, node: Any) -> str:
        return next((str(alias.identifier().name()) for alias in self._nodes.named(node, "SubqueryAlias")), "")

    def _keyed(self, rows: DataFrame, plan: Any, keys: Iterable[Any]) -> DataFrame:
        """The columns of a late row: its key as a JSON list, when it happened, and the watermark that it met."""
        times = [a for a in each(plan.output()) if _has_watermark(a) and not _is_struct(a)]
        key = F.to_json(F.array(*[self._column(column).cast("string") for column in keys]))
        event_time = self._column(times[0]) if times else lit(None).cast("timestamp")
        watermark = F.timestamp_millis(lit(self.late_before))
        return rows.select(key.alias("key"), event_time.alias("event_time"), watermark.alias("watermark"))

    def _at_rest(self, rows: DataFrame) -> DataFrame:
        """Rows of a part of a streaming plan as a frame that Spark lets be written."""
        execution = rows._jdf.queryExecution()
        session: Any = self._reader._jsparkSession
        return DataFrame(session.internalCreateDataFrame(execution.toRdd(), rows._jdf.schema(), False), self._reader)

    def _frame(self, plan: Any) -> DataFrame:
        return frame_of(self._reader, plan)

    def _column(self, expression: Any) -> Column:
        return ClassicColumn(java_class(self._jvm, "org.apache.spark.sql.classic.ExpressionUtils").column(expression))

    @cached_property
    def _logical(self) -> Any:
        inline = java_class(self._jvm, "org.apache.spark.sql.catalyst.optimizer.InlineCTE")(True, False)
        return inline.apply(self._execution.analyzed())

    @cached_property
    def _stateful(self) -> tuple[Any, ...]:
        found = self._nodes.counting(self._execution.executedPlan(), _DROPPED)
        return tuple(node for node in found if str(node.nodeName()) != _TIMELESS)


_DROPPED = "numRowsDroppedByWatermark"
_WATERMARK = "EventTimeWatermark"
_TIMELESS = "StreamingGlobalLimit"
"""A step that counts such rows as all steps with state do, and knows no watermark."""

Entrance = tuple[Any, list[Any], list[Any]]
"""A plan whose rows enter a step with state, the keys of that step, and its columns with a watermark."""


def _entrances(plan: Any, jvm: Any) -> list[Entrance]:
    """Where rows first reach state: below, there is none."""
    below = [found for child in each(plan.children()) for found in _entrances(child, jvm)]
    if below or not plan.isStreaming():
        return below
    name = plan.nodeName()
    if name == "Join" and plan.left().isStreaming() and plan.right().isStreaming():
        left, right = _equal_keys(jvm, plan)
        return [_side(plan.left(), left), _side(plan.right(), right)]
    if name in ("Aggregate", "Distinct"):
        by = [*each(plan.groupingExpressions() if name == "Aggregate" else plan.output())]
        return [(plan.child(), [e for e in by if not _has_watermark(e)], [e for e in by if _has_watermark(e)])]
    return []


def _side(plan: Any, keys: list[Any]) -> Entrance:
    return plan, keys, [attribute for attribute in each(plan.output()) if _has_watermark(attribute)]


def _equal_keys(jvm: Any, join: Any) -> tuple[list[Any], list[Any]]:
    """What a join compares for equality, on the left and on the right."""
    found = java_class(jvm, "org.apache.spark.sql.catalyst.planning.ExtractEquiJoinKeys").unapply(join)
    return ([*each(found.get()._2())], [*each(found.get()._3())]) if found.isDefined() else ([], [])


def _paths(leaf: Any) -> str:
    is_relation = leaf.getClass().getSimpleName() == "LogicalRelation"
    return str(leaf.relation().location().rootPaths().toString()) if is_relation else ""


def _has_watermark(expression: Any) -> bool:
    is_named = expression.getClass().getSimpleName() in ("AttributeReference", "Alias")
    return is_named and bool(expression.metadata().contains(_TAG))


def _is_struct(expression: Any) -> bool:
    return bool(expression.dataType().typeName() == "struct")


def _or_never(option: Any) -> int:
    return int(option.get()) if option.isDefined() else _NEVER
