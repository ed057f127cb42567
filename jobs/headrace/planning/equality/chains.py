"""The joins and conditions of a micro-batch query in one form, for all ways to write them.

Inner joins are a product under conditions, in no order. A left, semi or anti join adds to each row what it finds for
that row alone, so two of them may change places unless one is on columns of the other. A condition on the rows that
such a join keeps holds before it or after it; one on the other rows is part of the join. A left join of whose rows a
condition needs some is an inner join, and one whose rows must be missing is an anti join. A condition on what a step
passes on, such as the key of a group, holds for the rows that the step is made of. A window is below a lookup that
finds one row at most, if it does not ask for what is looked up.

Spark's streaming engine keeps state by the joins as they are written, so its queries have no such form.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from sqlglot import exp

from headrace.planning.forms import truths
from headrace.planning.forms.arrivals import INNER, OF_EACH_ROW, is_single
from headrace.planning.forms.functions import may_fail
from headrace.planning.forms.scope import with_children
from headrace.planning.forms.steps import Step
from headrace.planning.forms.terms import Atom, Term, atoms, column, key, short, term
from headrace.planning.forms.types import CERTAIN, is_exact, is_null_of_nulls

_MOVABLE = (
    *(exp.Column, exp.Identifier, exp.Literal, exp.Boolean, exp.Null, exp.Paren, exp.Cast, exp.DataType, exp.Dot),
    *(exp.DataTypeParam, exp.Predicate, exp.Connector, exp.Not, exp.Neg, exp.Add, exp.Sub, exp.Mul, exp.Div),
    *(exp.Coalesce, exp.Case, exp.If, exp.Upper, exp.Lower, exp.Concat, exp.Interval, exp.Var, exp.Tuple),
    *(exp.ArraySize, exp.Length, exp.Substring, exp.Abs, exp.Array, exp.Bracket, exp.Struct, exp.PropertyEQ),
    exp.Lambda,
)
"""What has the same value for a row wherever it is asked."""

Types = Callable[[exp.Expr], str | None]
"""The type of an expression, if it is certain."""


def text(step: Step, types: Types) -> str:
    """A tree of steps as text."""
    return _text(_chain(step, types))


@dataclass(frozen=True)
class _Join:
    """A join that finds something for each row by itself; `on` are its conditions, `owners` the steps of `right`."""

    kind: str
    right: _Chain
    on: tuple[Term, ...]
    owners: frozenset[str]

    @cached_property
    def key(self) -> tuple[str, ...]:
        return self.kind, _text(self.right), *sorted(each.key for each in self.on)

    def needs(self, other: _Join) -> bool:
        """Whether it is on columns of another one."""
        return any(_is_of(each, other.owners - self.owners) for each in self.on)


@dataclass(frozen=True)
class _Chain:
    """A product of sources, what is joined to each of its rows, and conditions on the result."""

    sources: tuple[str, ...]
    joins: tuple[_Join, ...] = ()
    filters: tuple[Term, ...] = ()


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


def _chain(step: Step, types: Types) -> _Chain:
    kind = step.parts["kind"][0].key if step.kind == "join" else ""
    conditions = (*step.filters, *step.parts.get("on", ()))
    if not all(_is_movable(each.tree) for each in conditions):
        return _Chain((_opaque(step, types),))
    if kind in INNER:
        left, right = (_chain(each, types) for each in step.inputs)
        filters = (*left.filters, *right.filters, *conditions)
        return _settled(_Chain((*left.sources, *right.sources), (*left.joins, *right.joins), filters))
    if kind in OF_EACH_ROW:
        return _settled(_joined(step, kind.removeprefix("left ") if kind != "left" else kind, types))
    if (looked_up := _behind_window(step, types)) is not None:
        return _chain(looked_up, types)
    step = _with_inner_conditions(step, types)
    return _Chain((_opaque(replace(step, filters=()), types),), (), step.filters)


def _joined(step: Step, kind: str, types: Types) -> _Chain:
    left, right = (_chain(each, types) for each in step.inputs)
    owners = frozenset(each.name for each in step.inputs[1].every())
    on = (*step.parts["on"], *right.filters)
    kept = tuple(each for each in on if kind == "semi" and not _is_of(each, owners))
    join = _Join(kind, replace(right, filters=()), tuple(each for each in on if each not in kept), owners)
    return _Chain(left.sources, (*left.joins, join), (*left.filters, *kept, *step.filters))


def _behind_window(step: Step, types: Types) -> Step | None:
    """A window over rows to which a lookup adds something, as the lookup for the rows of the window."""
    join = step.inputs[0] if step.kind == "window" else step
    if step.kind != "window" or join.kind != "join" or join.filters or join.parts["kind"][0].key != "left":
        return None
    left, right = join.inputs
    owners = [each.name for each in right.every()]
    made = (of for each in step.parts["over"] for atom in each.atoms for of in atom.made_of)
    if any(_is_of(term(each), owners) for each in made) or not is_single(right, join.parts["on"], types):
        return None
    return replace(join, inputs=(replace(step, inputs=(left,), filters=()), right), filters=step.filters)


def _opaque(step: Step, types: Types) -> str:
    listed = {part: [each.key for each in found] for part, found in step.parts.items()}
    if step.kind == "aggregate":
        listed["keys"].sort()
    parts = _listed(f"{part}={_listed(found)}" for part, found in listed.items())
    filters = _listed(sorted(each.key for each in step.filters))
    inputs = _listed(text(each, types) for each in step.inputs)
    return short(f"({step.kind} {step.name if step.kind == 'scan' else ''} {parts} where {filters} of {inputs})")


def _is_of(condition: Term, owners: Iterable[str]) -> bool:
    return any(atom.name.startswith(f"{owner}.") for owner in owners for atom in condition.atoms)


def _is_movable(tree: exp.Expr) -> bool:
    if "atom" in tree.meta:
        return bool(tree.meta["atom"].kind != "query")
    is_certain = isinstance(tree, exp.Anonymous) and tree.name.lower() in CERTAIN
    return (is_certain or isinstance(tree, _MOVABLE)) and all(map(_is_movable, tree.iter_expressions()))


# left joins that conditions make others


def _settled(chain: _Chain) -> _Chain:
    """A chain in which no left join is one that its conditions make another, without conditions that others imply."""
    for join in chain.joins:
        if join.kind == "left" and any(_needs_row(each, join.owners) for each in chain.filters):
            return _settled(_as_inner(chain, join))
        missing = {each.key for each in chain.filters if join.kind == "left" and _needs_none(each, join)}
        if missing:
            joins = (replace(each, kind="anti") if each is join else each for each in chain.joins)
            return replace(
                chain, joins=tuple(joins), filters=tuple(each for each in chain.filters if each.key not in missing)
            )
    kept = truths.not_implied([each.tree for each in chain.filters])
    return replace(chain, filters=tuple(each for each in chain.filters if any(each.tree is one for one in kept)))


def _as_inner(chain: _Chain, join: _Join) -> _Chain:
    sources = (*chain.sources, *join.right.sources)
    joins = (*(each for each in chain.joins if each is not join), *join.right.joins)
    return _Chain(sources, joins, (*chain.filters, *join.on))


def _needs_row(condition: Term, owners: frozenset[str]) -> bool:
    """Whether a condition is not true where all columns of some steps are null."""
    tree = condition.tree.unnest()
    inner = tree.this.unnest() if isinstance(tree, exp.Not) else tree
    if isinstance(inner, exp.In) or (isinstance(tree, exp.Not) and truths.asks_for_null(inner)):
        sides = [inner.this]
    else:
        sides = [tree.left, tree.right] if isinstance(tree, truths.COMPARED) else []
    return any(_is_of_all(side, owners) for side in sides)


def _is_of_all(tree: exp.Expr, owners: frozenset[str]) -> bool:
    """Whether an expression is made of columns of some steps alone, and null where all of them are."""
    found = atoms(tree)
    is_own = all(any(each.name.startswith(f"{owner}.") for owner in owners) for each in found)
    return bool(found) and is_own and is_null_of_nulls(tree)


def _needs_none(condition: Term, join: _Join) -> bool:
    """Whether a condition is only true where a left join has found no row: what it is by is null there alone."""
    tree = condition.tree.unnest()
    if not truths.asks_for_null(tree) or not _is_of_all(tree.this, join.owners):
        return False
    compared = (each.tree for each in join.on if isinstance(each.tree, truths.COMPARED))
    return any(key(side) == key(tree.this) for each in compared for side in (each.left, each.right))


# conditions below the step that they are written above


def _with_inner_conditions(step: Step, types: Types) -> Step:
    """A step with those of its conditions below it that are on what it passes on."""
    for condition in step.filters:
        below = [_below(condition, step, at, types) for at in range(len(step.inputs))]
        found = [each for each in below if each is not None]
        if found and len(found) == len(step.inputs):
            pairs = zip(step.inputs, found, strict=True)
            inputs = tuple(replace(each, filters=(*each.filters, one)) for each, one in pairs)
            step = replace(step, inputs=inputs, filters=tuple(each for each in step.filters if each is not condition))
    return step


def _below(condition: Term, step: Step, at: int, types: Types) -> Term | None:
    """A condition on rows of a step as one on those of an input; None if it is on anything that the step makes."""
    origins = {atom.name: _origin(atom, step, at, types) for atom in condition.atoms}
    if not origins or None in origins.values() or may_fail(condition.tree):
        return None

    def put(node: exp.Expr) -> exp.Expr:
        atom = node.meta.get("atom")
        return with_children(node, put) if atom is None else origins[atom.name] or node

    return term(put(condition.tree))


def _origin(atom: Atom, step: Step, at: int, types: Types) -> exp.Expr | None:
    """What a column of a step is in the rows of an input, without another type or form: a group has one `0.0`."""
    is_own = atom.name.startswith(f"{step.name}.")
    if step.kind == "explode":
        return None if is_own else column(atom)
    if not is_own or atom.kind != {"aggregate": "key", "union": "union"}.get(step.kind):
        return None
    found = {types(each) for each in atom.made_of}
    has_one_form = len(found) == 1 and all(map(is_exact, found))
    return atom.made_of[at] if has_one_form else None
