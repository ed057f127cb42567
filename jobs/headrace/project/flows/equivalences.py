"""What the values in a model are derived from, and which of them its equalities make equal.

An end is a stored column, or an expression that computes a value. Values are followed through CTEs and views.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from sqlglot import exp
from sqlglot.optimizer.scope import Scope

from headrace.project.flows.flow import Flow
from headrace.project.sql.selects import conjuncts, matches
from headrace.project.sql.tracing import Made, Stored

ARRIVAL = "_arrival"
TIMES = frozenset({ARRIVAL, "landed_at", "landing_batch"})
"""Columns that hold when a row arrived."""


Key = frozenset[object]
"""What a value is derived from: ends of its columns; values that an equality connects have the same key."""


@dataclass(frozen=True)
class Part:
    """The text of the model or of a view; `moves` is false where it is looked up, so that its streams do not move."""

    flow: Flow
    moves: bool


class Equivalences:
    """The equivalences in the texts that one model consists of, its own the first."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self._parts = parts
        self._numbers: dict[tuple[Flow, int], tuple[exp.Expr, int]] = {}
        self._forms: dict[object, int] = {}

    def key(self, part: Part, expression: exp.Expr) -> Key:
        """Return what a value is derived from; nothing where that is uncertain."""
        return frozenset(self._representatives.get(end, end) for end in self._ends(part, expression))

    def keys(self, part: Part, expressions: Sequence[exp.Expr]) -> tuple[Key, ...]:
        """Return what some values are derived from."""
        return tuple(self.key(part, each) for each in expressions)

    def output(self, names: tuple[str, ...]) -> tuple[Key, ...]:
        """Return what some columns of the model's result are derived from."""
        flow = self._parts[0].flow
        found = ([self._end(*each) for each in flow.all_ends_of(name)] for name in names)
        return tuple(frozenset(self._representatives.get(end, end) for end in ends) for ends in found)

    def is_arrival(self, part: Part, expression: exp.Expr) -> bool:
        """Return whether a value is an arrival, or contains a whole one, so that it identifies one event."""
        return ARRIVAL in _stored_names(part.flow, expression, whole=True)

    def is_per_event(self, part: Part, expressions: Sequence[exp.Expr]) -> bool:
        """Return whether rows that have these values in common come from one event."""
        return any(self.is_arrival(part, each) for each in expressions)

    def has_time(self, part: Part, expression: exp.Expr) -> bool:
        """Return whether the time at which a row came goes into a value."""
        return any(name in TIMES for name in _stored_names(part.flow, expression, whole=False))

    def _ends(self, part: Part, expression: exp.Expr) -> Iterator[object]:
        yield from (self._end(*each) for each in part.flow.all_ends(expression))

    def _end(self, flow: Flow, source: Stored | Made) -> object:
        if isinstance(source, Stored):
            return (source.table, source.column.lower(), tuple(map(str.lower, source.fields)))
        return ("made", self._number(flow, source.expression), source.fields)

    def _number(self, flow: Flow, expression: exp.Expr) -> int:
        """The number of an expression; where it is written again, of the same columns, it has the same one."""
        at = (flow, id(expression))
        if at not in self._numbers:
            number = self._forms.setdefault(self._form(flow, expression) or at, len(self._forms))
            self._numbers[at] = expression, number  # the expression stays, and so does its id
        return self._numbers[at][1]

    def _form(self, flow: Flow, expression: exp.Expr) -> object:
        """What an expression computes, and of which columns; None where it is more than one row's, or uncertain."""
        columns = [*expression.find_all(exp.Column)]
        ends = [frozenset(self._end(*each) for each in flow.all_ends(column)) for column in columns]
        if not columns or not all(ends) or expression.find(*_OF_SEVERAL_ROWS) is not None:
            return None
        return _text(expression), tuple(ends)

    @cached_property
    def _representatives(self) -> dict[object, object]:
        """For each end that equalities connect with others, the one that represents all of them."""
        groups: list[set[object]] = []
        for part in self._parts:
            for scope in part.flow.selects:
                for left, right in _equalities(scope):
                    both = {*self._ends(part, left), *self._ends(part, right)}
                    met = [group for group in groups if group & both]
                    groups = [each for each in groups if each not in met] + [both.union(*met)]
        return {end: min(group, key=repr) for group in groups for end in group}


def within(keys: Sequence[Key], others: Sequence[Key]) -> bool:
    """Return whether each of some values is among others."""
    return all(any(key & other for other in others) for key in keys)


def same(keys: Sequence[Key], others: Sequence[Key]) -> bool:
    """Return whether two lists of values are the same."""
    return within(keys, others) and within(others, keys)


_PRESERVING = (
    exp.Alias, exp.Paren, exp.Window, exp.Struct, exp.PropertyEQ, exp.Tuple, exp.Array, exp.JSONFormat, exp.Cast,
    exp.Coalesce, exp.Greatest, exp.Least, exp.Min, exp.Max, exp.ArgMin, exp.ArgMax, exp.First, exp.Last,
    exp.FirstValue, exp.LastValue, exp.Lag, exp.IgnoreNulls, exp.Filter,
)  # fmt: skip
"""What returns a value unchanged, with others beside it, or one of several."""


_CHOICES = (exp.ArgMin, exp.ArgMax)
"""What returns one value by the order of another."""

_OF_SEVERAL_ROWS = (exp.AggFunc, exp.Window, exp.Query, exp.UDTF, exp.Explode, exp.Lambda)
"""What takes more than the columns of one row, or gives more than one value."""


def _stored_names(flow: Flow, expression: exp.Expr, whole: bool, seen: frozenset[str] = frozenset()) -> Iterator[str]:
    """The names of the stored columns that a value is taken from; what only compares or counts them does not count."""
    if isinstance(expression, (exp.Predicate, exp.Connector, exp.Not, exp.Count, exp.CountIf)):
        return
    for column in expression.find_all(exp.Column):
        for source in flow.tracing.sources(column) if not whole or _is_preserved(column, expression) else ():
            yield from _origin_names(flow, source, whole, seen)


def _is_preserved(column: exp.Column, expression: exp.Expr) -> bool:
    node: exp.Expr = column
    while node is not expression:
        above = node.parent
        if not isinstance(above, _PRESERVING) or (isinstance(above, _CHOICES) and node.arg_key != "this"):
            return False
        node = above
    return True


def _origin_names(flow: Flow, source: Stored | Made, whole: bool, seen: frozenset[str]) -> Iterator[str]:
    if isinstance(source, Made):
        yield from _stored_names(flow, source.expression, whole, seen)
        return
    if source.column.lower() == ARRIVAL and source.fields:
        yield source.fields[-1].lower()  # a part of it does not identify an event
        return
    yield source.column.lower()
    maker, name = flow.of_table(source.table), f"{source.table}.{source.column}".lower()
    if maker is not None and name not in seen:
        for each in maker.tracing.output(source.column):
            yield from _origin_names(maker, each, whole, seen | {name})


def _text(expression: exp.Expr) -> str:
    """An expression without the names of its columns, which are told apart by what they are made of."""
    copied = expression.copy()
    for column in [*copied.find_all(exp.Column)]:
        column.replace(exp.Placeholder())
    return copied.sql()


def _equalities(scope: Scope) -> Iterator[tuple[exp.Expr, exp.Expr]]:
    where = scope.expression.args.get("where")
    for each in (*matches(scope), *(conjuncts(where.this) if where is not None else ())):
        if isinstance(each, (exp.EQ, exp.NullSafeEQ)) and not _has_literal(each):
            yield each.left, each.right


def _has_literal(equality: exp.EQ | exp.NullSafeEQ) -> bool:
    return any(not [*side.find_all(exp.Column)] for side in (equality.left, equality.right))
