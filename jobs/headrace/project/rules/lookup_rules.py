"""Lookups of tables that the same query writes: they stand as they were before the batch, wherever the batch is cut.

A row that arrives in the same batch as the change it looks for does not find it, and in the next batch it would. Three
forms do not depend on that: the table is computed from the model's own rows, so it is the model's own state; the
model adds the changes of this batch to it; or the model starts from it and takes the changes in order of arrival.
And there are the versions of an upsert, which hold this batch's changes, also those that came after a row. So a lookup
must say that a version began before the row, and must not ask whether it is the current one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp
from sqlglot.optimizer.scope import Scope

from headrace.errors import Finding
from headrace.project import graph
from headrace.project.flows import versions
from headrace.project.flows.draft import Draft
from headrace.project.flows.flow import Flow
from headrace.project.model import Model
from headrace.project.sql.scopes import table_name
from headrace.project.sql.selects import filters, matches

_CHOICES = (exp.ArgMax, exp.ArgMin)
_COMPARISONS = (exp.LT, exp.LTE, exp.GT, exp.GTE)
_ARRIVAL = "_arrival"
_CURRENT = "whether a version is the current one depends on the batch"
_LATER = "versions that come later in the batch are among these, so rows depend on the batches"
_AS_OF_ARRIVAL = (
    "look it up as of each row's arrival: `and o._arrival > c._valid_from and (c._valid_to is null or o._arrival <= "
    "c._valid_to)`"
)


def lookups_before_the_batch(draft: Draft) -> Iterator[Finding]:
    """A model looks up no table of its own query, unless it takes this batch's changes in as well."""
    places = set()
    for model in draft.models.values():
        if model.materialized not in ("append", "upsert") or model.run != "micro_batch":
            continue
        if not any(input_.stream for input_ in model.inputs):  # has a finding of its own; this table may need the word
            continue
        for read in graph.reads(model, draft.models):
            other = draft.models.get(read.table)
            if (
                other is None
                or other.query != model.query
                or other is model
                or read.stream
                or read.versions
                or read.place in places
            ):
                continue
            if not _Carried(draft, model, other).holds:
                places.add(read.place)
                yield Finding(read.place, "cut-dependent", _message(other))


def _message(other: Model) -> str:
    why = f"the same query writes {other.table}, so this is the table before the batch, and rows depend on the batches"
    if not versions.has_versions(other):
        return f"{why}; stream {other.table} as well, and take its rows in order of `_arrival`"
    same = " and ".join(f"o.{key} = c.{key}" for key in other.unique_key)
    return (
        f"{why}; look it up as of each row's arrival: `join {other.table}{versions.SUFFIX} as c on {same} and "
        "o._arrival > c._valid_from and (c._valid_to is null or o._arrival <= c._valid_to)`"
    )


@dataclass(frozen=True)
class _Carried:
    """Whether what a model looks up in its own query is completed by the changes of the batch."""

    draft: Draft
    model: Model
    other: Model

    @property
    def holds(self) -> bool:
        return self._is_own_state or any(
            self._is_complete(flow, scope) for flow in self._flows for scope in flow.tracing.scopes
        )

    @property
    def _is_own_state(self) -> bool:
        """The table comes from the model's rows, so in a batch there is none of its changes before the model's."""
        return self.model.table in self._streamed_by({self.other.table})

    @property
    def _flows(self) -> list[Flow]:
        parts = (self.model, *graph.views(self.model, self.draft.models))
        return [self.draft.flows[part.table] for part in parts if part.table in self.draft.flows]

    def _is_complete(self, flow: Flow, scope: Scope) -> bool:
        if scope.set_operation_scopes:
            branches = scope.set_operation_scopes
            has_changes = any(self._has_changes(flow, branch) for branch in branches)
            return has_changes and any(self.other.table in _tables(branch, flow, False) for branch in branches)
        return self._has_changes(flow, scope) and _is_ordered(scope)

    def _has_changes(self, flow: Flow, scope: Scope) -> bool:
        """Whether a scope streams the table, or all that its changes are computed from."""
        streamed = self._streamed_by(_tables(scope, flow, True))
        sources = {table for table in self._streamed_by({self.other.table}) if not self._is_inside(table)}
        return self.other.table in streamed or (bool(sources) and sources <= streamed)

    def _is_inside(self, table: str) -> bool:
        model = self.draft.models.get(table)
        return model is not None and (model.materialized == "view" or model.query == self.model.query)

    def _streamed_by(self, tables: set[str]) -> set[str]:
        """Some tables, and what those of this query are computed from by stream."""
        found, waiting = set[str](), [*tables]
        while waiting:
            table = waiting.pop()
            if table not in found:
                found.add(table)
                if self._is_inside(table):
                    waiting += [input_.table for input_ in self.draft.models[table].inputs if input_.stream]
        return found


def _tables(scope: Scope, flow: Flow, stream: bool) -> set[str]:
    """The tables that a scope reads, itself or through what stands inside it: those of one kind."""
    found = set[str]()
    for branch in scope.set_operation_scopes or ():
        found |= _tables(branch, flow, stream)
    for alias, _ in scope.references:
        source = scope.sources.get(alias)
        if isinstance(source, Scope):
            found |= _tables(source, flow, stream)
        elif isinstance(source, exp.Table) and flow.is_moving(alias, scope) == stream:
            found.add(table_name(source))
    return found


def _is_ordered(scope: Scope) -> bool:
    """Whether a select takes rows in order of arrival: by a window, a sort, a choice or a comparison."""
    ordering = scope.find_all(exp.Order, exp.ArraySort, *_CHOICES, *_COMPARISONS)
    return any(isinstance(node, exp.ArraySort) or any(map(_is_arrival, node.find_all(exp.Column))) for node in ordering)


def _is_arrival(column: exp.Column) -> bool:
    return _ARRIVAL in (part.name.lower() for part in column.parts)


def versions_as_of_arrival(draft: Draft) -> Iterator[Finding]:
    """A model finds the versions that its own query writes as of the arrival of its rows."""
    for model in draft.models.values():
        flow = draft.flows.get(model.table)
        if flow is None or model.run != "micro_batch" or model.materialized not in ("append", "upsert"):
            continue
        for ref in model.inputs:
            if not ref.versions or ref.stream or ref.table == model.table:  # the last two have findings of their own
                continue
            is_here = draft.models[ref.table].query == model.query
            if is_here and (why := _Reading(flow, ref.start).wrong):
                yield Finding(ref.place, "cut-dependent", f"{why}; {_AS_OF_ARRIVAL}")


@dataclass(frozen=True)
class _Reading:
    """One place at which a model reads versions."""

    flow: Flow
    start: int

    @property
    def wrong(self) -> str | None:
        conditions = [each for scope in self.flow.selects for each in (*matches(scope), *filters(scope))]
        asked = (each.this if isinstance(each, exp.Not) else each for each in conditions)
        if self._returns_end() or any(
            isinstance(each, exp.Is) and self._has(versions.VALID_TO, each) for each in asked
        ):
            return _CURRENT
        ordering = (each for condition in conditions for each in condition.find_all(*_COMPARISONS, exp.Between))
        return None if any(self._bounds(each) for each in ordering) else _LATER

    def _bounds(self, comparison: exp.Expr) -> bool:
        """Whether the begin of a version is compared with something of another relation."""
        sides = [*comparison.iter_expressions()]
        return any(self._has(versions.VALID_FROM, side) for side in sides) and any(
            self._is_other(side) for side in sides
        )

    def _returns_end(self) -> bool:
        queries = [scope.expression for scope in self.flow.tracing.scopes[-1:]]
        columns = (each for query in queries if isinstance(query, exp.Select) for each in query.selects)
        return any(self._has(versions.VALID_TO, each) for each in columns)

    def _has(self, column: str, expression: exp.Expr) -> bool:
        return any(each == column for each, is_here in self._columns(expression) if is_here)

    def _is_other(self, expression: exp.Expr) -> bool:
        found = [*self._columns(expression)]
        return bool(found) and not any(is_here for _, is_here in found)

    def _columns(self, expression: exp.Expr) -> Iterator[tuple[str, bool]]:
        """The stored columns that go into a value, each with whether it is read here."""
        for each in self.flow.tracing.stored(expression):
            is_here = (
                table_name(each.node).endswith(versions.SUFFIX) and each.node.parts[0].meta.get("start") == self.start
            )
            yield each.column.lower(), is_here
