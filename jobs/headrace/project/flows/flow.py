"""What moves in one model file: which of its relations are streams, have a watermark, and carry the event time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property

from sqlglot import exp
from sqlglot.optimizer.scope import Scope

from headrace.errors import Place
from headrace.project.declarations.modelfile import ModelFile
from headrace.project.sql import watermarks
from headrace.project.sql.scopes import Lookup, table_name
from headrace.project.sql.tracing import Made, Source, Stored, Tracing
from headrace.project.sql.watermarks import Watermark

TIME_WINDOWS = frozenset({"window", "session_window", "window_time"})
"""Functions whose value Spark knows as event time."""


class Flow:
    """One file, and the views that it reads, which `flows` holds by table."""

    def __init__(self, file: ModelFile, lookup: Lookup, flows: Mapping[str, Flow]) -> None:
        self.file = file
        self._flows = flows
        self._lookup = lookup

    @cached_property
    def tracing(self) -> Tracing:
        """Where the columns of this file come from."""
        return Tracing(self.file.text.statement, self._lookup)

    @cached_property
    def selects(self) -> list[Scope]:
        """The selects of this file, inner ones first."""
        return [scope for scope in self.tracing.scopes if isinstance(scope.expression, exp.Select)]

    def place(self, node: exp.Expr) -> Place:
        """Return where a node starts, as nearly as is known."""
        starts = [each.meta["start"] for each in node.walk() if "start" in each.meta]
        statement = self.file.text.statement
        return statement.place(min(starts, default=statement.tokens[0].start))

    def moves(self, scope: Scope) -> bool:
        """Return whether a scope reads a stream."""
        branches = scope.set_operation_scopes or ()
        return any(map(self.moves, branches)) or any(self.is_moving(alias, scope) for alias in _aliases(scope))

    def is_moving(self, alias: str, scope: Scope) -> bool:
        """Return whether one relation of a scope is a stream."""
        source = scope.sources.get(alias)
        if isinstance(source, Scope):
            return self.moves(source)
        return isinstance(source, exp.Table) and self.is_streamed(source)

    def is_watermarked(self, alias: str, scope: Scope) -> bool:
        """Return whether one relation of a scope has a watermark, here or further up."""
        node = dict(scope.references).get(alias)
        return (node is not None and self._clause(node) is not None) or self.was_watermarked(alias, scope)

    def was_watermarked(self, alias: str, scope: Scope) -> bool:
        """Return whether a relation comes with a watermark, before the clause that may follow it."""
        source = scope.sources.get(alias)
        if isinstance(source, Scope):
            return self.has_watermark(source)
        if not isinstance(source, exp.Table) or not self.is_streamed(source):
            return False
        view = self.view_of(table_name(source))
        return view is not None and any(view.has_watermark(each) for each in view.tracing.scopes[-1:])

    def has_watermark(self, scope: Scope) -> bool:
        """Return whether any relation of a scope has a watermark."""
        branches = scope.set_operation_scopes or ()
        return any(map(self.has_watermark, branches)) or any(self.is_watermarked(a, scope) for a in _aliases(scope))

    def clauses(self, scope: Scope) -> Iterator[tuple[str, Watermark]]:
        """Yield the watermarks that are written in a scope, each with the alias of its relation."""
        for alias, node in scope.references:
            if (clause := self._clause(node)) is not None:
                yield alias, clause

    def is_time(self, expression: exp.Expr) -> bool | None:
        """Return whether an expression is a window or the event time; None where that is not known."""
        ends = list(self.tracing.ends(expression))
        return any(map(self._is_time_end, ends)) if ends else None

    def is_event_time(self, expression: exp.Expr) -> bool:
        """Return whether Spark marks a value as event time: a column of a watermark or a window, and no part of one."""
        expression = expression.unalias()
        if not isinstance(expression, exp.Column):
            return self._is_time_end(Made(expression))
        if len(expression.parts) > 1 and expression.parts[0].name.lower() in TIME_WINDOWS:
            return False
        sources = self.tracing.sources(expression)
        made_by_clauses = watermarks.columns(self.file.text.statement)  # no table has such a column
        return any(map(self._is_marked, sources)) or (not sources and expression.name.lower() in made_by_clauses)

    def _is_marked(self, source: Source) -> bool:
        if source.fields:
            return False
        if isinstance(source, Made):
            return self.is_event_time(source.expression)
        clause, view = self._clause(source.node), self.view_of(source.table)
        if clause is not None and clause.column.lower() == source.column.lower():
            return True
        return view is not None and any(map(view._is_marked, view.tracing.output(source.column)))

    def _is_time_end(self, source: Source) -> bool:
        if isinstance(source, Made):
            call = source.expression
            is_window = isinstance(call, exp.Anonymous) and call.name.lower() in TIME_WINDOWS
            return is_window and self.is_time(call.expressions[0]) is not False
        clause, view = self._clause(source.node), self.view_of(source.table)
        if clause is not None and clause.column.lower() == source.column.lower():
            return True
        return view is not None and any(map(view._is_time_end, view.ends_of(source.column)))

    def ends_of(self, column: str) -> Iterator[Source]:
        """Yield what makes a column of this model, as far as its own text shows."""
        for source in self.tracing.output(column):
            yield from self.tracing.ends(source.expression) if isinstance(source, Made) else (source,)

    def all_ends(self, expression: exp.Expr) -> Iterator[tuple[Flow, Source]]:
        """Yield what makes a value, through the views that are read too."""
        for source in self.tracing.ends(expression):
            view = self.view_of(source.table) if isinstance(source, Stored) else None
            if view is not None and isinstance(source, Stored):
                yield from view.all_ends_of(source.column)
            else:
                yield self, source

    def all_ends_of(self, column: str) -> Iterator[tuple[Flow, Source]]:
        """Yield what makes a column of this model, through the views that it reads too."""
        for source in self.tracing.output(column):
            if isinstance(source, Made):
                yield from self.all_ends(source.expression)
            elif (view := self.view_of(source.table)) is not None:
                yield from view.all_ends_of(source.column)
            else:
                yield self, source

    def _clause(self, node: exp.Expr) -> Watermark | None:
        return watermarks.after(node, self.file.text.statement)

    def of_table(self, table: str) -> Flow | None:
        """Return the text of a model that this one reads; None for a source."""
        return self._flows.get(table)

    def view_of(self, table: str) -> Flow | None:
        """Return the text of a view that this one reads; None for whatever is no view."""
        flow = self._flows.get(table)
        return flow if flow is not None and flow.file.model.materialized == "view" and flow is not self else None

    def is_streamed(self, table: exp.Table) -> bool:
        """Return whether `stream` stands before a table."""
        start = table.parts[0].meta.get("start", -1)
        return any(each.stream and each.start <= start < each.end for each in self.file.model.inputs)


def _aliases(scope: Scope) -> list[str]:
    return [alias for alias, _ in scope.references]
