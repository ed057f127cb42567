"""Event times in the plan of a streaming query: Spark's engine takes only one for each side of a join.

Spark marks the column that a WATERMARK stands on, and passes the mark on. After a join its rows have two marked
columns, and the next join fails at its first row. The one that the next join's condition names bounds that join's
state; the others have done their part, and lose the mark here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from headrace.spark.jvm import each, frame_of, java_class, kind_of, scala_object, scala_sequence

MARK = "spark.watermarkDelayMs"

Renamed = dict[int, tuple[Any, Any]]
"""Columns that lost their mark, by their number: as they were, and as they are."""

_EXPRESSIONS = "org.apache.spark.sql.catalyst.expressions"
_LOGICAL = "org.apache.spark.sql.catalyst.plans.logical"


def one_for_each_side(session: SparkSession, frame: DataFrame) -> DataFrame:
    """A frame whose joins have one event time on each side where that can be decided; else the frame itself."""
    plan = frame._jdf.queryExecution().analyzed()
    if not any(_surplus(join, side) for join in _joins(plan) for side in (join.left(), join.right())):
        return frame
    jvm: Any = session._jvm
    inlined = java_class(jvm, "org.apache.spark.sql.catalyst.optimizer.InlineCTE")(True, False).apply(plan)
    return frame_of(session, _Plan(session).rewritten(inlined)[0])


class _Plan:
    def __init__(self, session: SparkSession) -> None:
        self._jvm: Any = session._jvm
        self._session = session
        self._some, self._pair = self._class("scala.Option"), self._class("scala.Tuple2")
        self._map = scala_object(self._jvm, f"{_EXPRESSIONS}.AttributeMap")
        self._metadata = self._class("org.apache.spark.sql.types.MetadataBuilder")

    def _class(self, name: str) -> Any:
        return java_class(self._jvm, name)

    def rewritten(self, plan: Any) -> tuple[Any, Renamed]:
        """The plan with its joins rewritten, bottom-up, and the columns that have another number since."""
        below = [self.rewritten(child) for child in each(plan.children())]
        renamed = {number: pair for _, found in below for number, pair in found.items()}
        if renamed:
            plan = self._renamed(plan.withNewChildren(self._plans([child for child, _ in below])), renamed)
        if kind_of(plan) != "Join":
            return plan, renamed
        sides = [self._stripped(side, _surplus(plan, side)) for side in (plan.left(), plan.right())]
        found = {number: pair for _, of_side in sides for number, pair in of_side.items()}
        if not found:
            return plan, renamed
        plan = self._renamed(plan.withNewChildren(self._plans([side for side, _ in sides])), found)
        return plan, {**renamed, **found}

    def _stripped(self, side: Any, surplus: Mapping[int, Any]) -> tuple[Any, Renamed]:
        """A side of a join below which some columns are plain times."""
        if not surplus:
            return side, {}
        columns = [self._plain(column) if _number(column) in surplus else column for column in each(side.output())]
        kind = self._class(f"{_EXPRESSIONS}.NamedExpression")
        project = self._class(f"{_LOGICAL}.Project")(scala_sequence(self._session, kind, columns), side)
        pairs = zip(each(side.output()), each(project.output()), strict=True)
        return project, {_number(old): (old, new) for old, new in pairs if _number(old) in surplus}

    def _plain(self, column: Any) -> Any:
        metadata = self._metadata().withMetadata(column.metadata()).remove(MARK).build()
        nothing = scala_sequence(self._session, self._class("java.lang.String"), ())
        named = (column.name(), column.newInstance().exprId(), column.qualifier())
        return self._class(f"{_EXPRESSIONS}.Alias")(column, *named, self._some.apply(metadata), nothing)

    def _renamed(self, plan: Any, renamed: Renamed) -> Any:
        pairs = [self._pair(old, new) for old, new in renamed.values()]
        return plan.rewriteAttrs(self._map.apply(scala_sequence(self._session, self._pair, pairs)))

    def _plans(self, plans: list[Any]) -> Any:
        return scala_sequence(self._session, self._class(f"{_LOGICAL}.LogicalPlan"), plans)


def _joins(plan: Any) -> Iterator[Any]:
    if kind_of(plan) == "Join":
        yield plan
    for child in each(plan.children()):
        yield from _joins(child)


def _surplus(join: Any, side: Any) -> dict[int, Any]:
    """The event times of a side beside the one that the join's condition names; none if it names not exactly one."""
    marked = {_number(column): column for column in each(side.output()) if column.metadata().contains(MARK)}
    if len(marked) < 2 or not join.isStreaming() or join.condition().isEmpty():
        return {}
    named = {_number(column) for column in each(join.condition().get().references().toSeq())}
    used = marked.keys() & named
    return {number: column for number, column in marked.items() if number not in used} if len(used) == 1 else {}


def _number(column: Any) -> int:
    return int(column.exprId().id())
