"""What a micro-batch model does with the rows it has stored: whether it leaves out known rows, and whether it adds up.

A group or a window over a batch continues from earlier rows only if something of these goes into the result. Where a
batch is to give one row of several, such as with `distinct`, the known rows must be left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from sqlglot import exp
from sqlglot.optimizer.scope import Scope

from headrace.project.flows.equivalences import Part
from headrace.project.flows.flow import Flow
from headrace.project.flows.joins import joins_of
from headrace.project.flows.movement import Movement, StateJoin
from headrace.project.sql.selects import filters
from headrace.project.sql.tracing import Made, Source


class OwnRows:
    """Answers for one model."""

    def __init__(self, movement: Movement) -> None:
        self._movement = movement

    def are_left_out(self) -> bool:
        """Return whether a row is dropped because of stored ones: by an anti join, `not exists` or a condition."""
        return any(self._drops(part, scope) for part, scope in self._selects())

    def are_used(self) -> bool:
        """Return whether anything that the model has stored goes into its rows, or decides which there are."""
        return self.are_left_out() or any(
            self._is_own(part.flow, each) for part, scope in self._selects() for each in scope.expression.expressions
        )

    def are_left_out_by(self, known: StateJoin) -> bool:
        """Return whether of the rows that look for stored ones only those are kept that find none."""
        if known.join is None:
            return isinstance(known.node.find_ancestor(exp.Not, exp.Select), exp.Not)
        if known.join.side == "anti":
            return True
        tracing = known.part.flow.tracing
        columns = known.join.columns_of(known.stored)
        return any(end in self._without for column in columns for end in tracing.ends(column))

    @cached_property
    def _without(self) -> set[Source]:
        """What must be null for a row to be kept."""
        conditions = ((part, each) for part, scope in self._selects() for each in filters(scope))
        return {
            end
            for part, each in conditions
            if isinstance(each, exp.Is) and isinstance(each.expression, exp.Null)
            for end in part.flow.tracing.ends(each.this)
        }

    def _selects(self) -> Iterator[tuple[Part, Scope]]:
        for part in self._movement.moving_parts:
            yield from ((part, scope) for scope in part.flow.selects if self._movement.combined(part, scope).new)

    def _drops(self, part: Part, scope: Scope) -> bool:
        joins = joins_of(part.flow, scope)
        if any(join.side == "anti" and self._movement.of_alias(part, scope, join.right).own for join in joins):
            return True
        return any(self._selects_new(part, scope, each) for each in filters(scope))

    def _selects_new(self, part: Part, scope: Scope, condition: exp.Expr) -> bool:
        """Return whether a condition may hold for new rows alone; one that requires a stored row does not."""
        wanted = not isinstance(condition, exp.Not)
        inner = condition.this.unnest() if isinstance(condition, exp.Not) else condition
        if isinstance(inner, exp.Is) and isinstance(inner.expression, exp.Null) and not wanted:
            return False
        if isinstance(inner, (exp.Exists, exp.In)) and inner.find(exp.Query):
            asked = [each for each in scope.subquery_scopes if each.expression.find_ancestor(type(inner)) is inner]
            return not wanted and any(self._movement.of_scope(part, each).own for each in asked)
        return self._is_looked_up(part.flow, inner)

    def _is_looked_up(self, flow: Flow, expression: exp.Expr) -> bool:
        """Return whether stored rows decide a value; one that rows of the batch have as well, as in a union, is not."""
        found = (flow.tracing.sources(column) for column in expression.find_all(exp.Column))
        return any(sources and all(self._comes_of_own(flow, each) for each in sources) for sources in found)

    def _comes_of_own(self, flow: Flow, source: Source) -> bool:
        if isinstance(source, Made):
            return self._is_looked_up(flow, source.expression)
        view = flow.view_of(source.table)
        if view is None:
            return source.table in self._movement.own_tables
        made = view.tracing.output(source.column)
        return bool(made) and all(self._comes_of_own(view, each) for each in made)

    def _is_own(self, flow: Flow, expression: exp.Expr) -> bool:
        if any(isinstance(each.parent, (exp.Select, exp.Column)) for each in expression.find_all(exp.Star)):
            return True  # nothing is known of what it stands for
        return any(self._is_of_own(flow, each.table, each.column) for each in flow.tracing.stored(expression))

    def _is_of_own(self, flow: Flow, table: str, column: str) -> bool:
        view = flow.view_of(table)
        if view is None:
            return table in self._movement.own_tables
        made = view.tracing.output(column)
        return any(
            self._is_own(view, each.expression)
            if isinstance(each, Made)
            else self._is_of_own(view, each.table, each.column)
            for each in made
        )
