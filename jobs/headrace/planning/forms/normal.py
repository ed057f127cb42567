"""The normal form of a micro-batch query: one text for all ways to write the same joins and conditions.

Inner joins are a product under conditions, in no order. A left, semi or anti join adds to each row what it finds for
that row alone, so two of them may change places unless one is on columns of the other. A condition on the rows that
such a join keeps holds before it or after it; one on the other rows is part of the join. All of it is right for nulls
and for rows that are there several times; `tests/spark/test_rewrites.py` has Spark compute both sides.

Spark's streaming engine keeps state by the joins as they are written, so its queries have no normal form.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from headrace.planning.forms.steps import Form, Step
from headrace.planning.forms.terms import Term, short
from headrace.planning.forms.types import CERTAIN

_INNER = ("inner", "cross")
_OF_EACH_ROW = ("left", "left semi", "left anti", "semi", "anti")

_MOVABLE = (
    *(exp.Column, exp.Identifier, exp.Literal, exp.Boolean, exp.Null, exp.Paren, exp.Cast, exp.DataType, exp.Dot),
    *(exp.DataTypeParam, exp.Predicate, exp.Connector, exp.Not, exp.Neg, exp.Add, exp.Sub, exp.Mul, exp.Div),
    *(exp.Coalesce, exp.Case, exp.If, exp.Upper, exp.Lower, exp.Concat, exp.Interval, exp.Var, exp.Tuple),
)
"""What has the same value for a row wherever it is asked."""


def same(old: Form, new: Form) -> bool:
    """Whether two forms give the same rows, the same number of times."""
    return _columns(old) == _columns(new) and _text(_chain(old.root)) == _text(_chain(new.root))


@dataclass(frozen=True)
class _Join:
    """A join that finds something for each row by itself; `on` are its conditions, `owners` the steps of `right`."""

    kind: str
    right: str
    on: tuple[Term, ...]
    owners: frozenset[str]

    @property
    def key(self) -> tuple[str, ...]:
        return self.kind, self.right, *sorted(each.key for each in self.on)

    def needs(self, other: _Join) -> bool:
        """Whether it is on columns of another one."""
        return any(_is_of(each, other.owners) for each in self.on)


@dataclass(frozen=True)
class _Chain:
    """A product of sources, what is joined to each of its rows, and conditions on the result."""

    sources: tuple[str, ...]
    joins: tuple[_Join, ...] = ()
    filters: tuple[Term, ...] = ()


def _columns(form: Form) -> list[tuple[str, str]]:
    return [(name, term.key) for name, term in form.columns.items()]


def _text(chain: _Chain) -> str:
    joins = (_listed(each.key) for each in _ordered(chain.joins))
    filters = sorted({each.key for each in chain.filters})
    return short(f"(rows of {_listed(sorted(chain.sources))} joined {_listed(joins)} where {_listed(filters)})")


def _listed(words: Iterable[str]) -> str:
    """Words as one; no quotes, which would be quoted again at each level."""
    return f"[{', '.join(words)}]"


def _ordered(joins: Sequence[_Join]) -> Iterator[_Join]:
    """The joins in the order of their keys, each after those that it needs."""
    waiting = [*joins]
    while waiting:
        free = [each for each in waiting if not any(each.needs(other) for other in waiting if other is not each)]
        found = min(free or waiting[:1], key=lambda each: each.key)
        waiting.remove(found)
        yield found


def _chain(step: Step) -> _Chain:
    kind = step.parts["kind"][0].key if step.kind == "join" else ""
    conditions = (*step.filters, *step.parts.get("on", ()))
    if not all(_is_movable(each.tree) for each in conditions):
        return _Chain((_opaque(step),))
    if kind in _INNER:
        left, right = map(_chain, step.inputs)
        filters = (*left.filters, *right.filters, *conditions)
        return _Chain((*left.sources, *right.sources), (*left.joins, *right.joins), filters)
    if kind in _OF_EACH_ROW:
        return _joined(step, kind.removeprefix("left ") if kind != "left" else kind)
    return _Chain((_opaque(replace(step, filters=())),), (), step.filters)


def _joined(step: Step, kind: str) -> _Chain:
    left, right = map(_chain, step.inputs)
    owners = frozenset(each.name for each in step.inputs[1].every())
    on = (*step.parts["on"], *right.filters)
    kept = tuple(each for each in on if kind == "semi" and not _is_of(each, owners))
    join = _Join(kind, _text(replace(right, filters=())), tuple(each for each in on if each not in kept), owners)
    return _Chain(left.sources, (*left.joins, join), (*left.filters, *kept, *step.filters))


def _opaque(step: Step) -> str:
    parts = _listed(f"{part}={_listed(each.key for each in found)}" for part, found in step.parts.items())
    filters = _listed(sorted(each.key for each in step.filters))
    inputs = _listed(_text(_chain(each)) for each in step.inputs)
    return short(f"({step.kind} {step.name if step.kind == 'scan' else ''} {parts} where {filters} of {inputs})")


def _is_of(condition: Term, owners: Iterable[str]) -> bool:
    return any(atom.name.startswith(f"{owner}.") for owner in owners for atom in condition.atoms)


def _is_movable(tree: exp.Expr) -> bool:
    if "atom" in tree.meta:
        return bool(tree.meta["atom"].kind != "query")
    is_certain = isinstance(tree, exp.Anonymous) and tree.name.lower() in CERTAIN
    return (is_certain or isinstance(tree, _MOVABLE)) and all(map(_is_movable, tree.iter_expressions()))
