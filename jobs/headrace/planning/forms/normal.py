"""The normal form of a micro-batch query: one text for all ways to write the same joins and conditions.

Inner joins are a product under conditions, in no order. A left, semi or anti join adds to each row what it finds for
that row alone, so two of them may change places unless one is on columns of the other. A condition on the rows that
such a join keeps holds before it or after it; one on the other rows is part of the join. All of it is right for nulls
and for rows that are there several times; `tests/spark/test_rewrites.py` has Spark compute both sides.

Spark's streaming engine keeps state by the joins as they are written, so its queries have no normal form.

Joins in another order give their rows in another order. That counts where one of several rows is taken, or each gets a
number: in an aggregate, a window, or by the key of the model. Rows that go by `_arrival` are in one order, as long as
no join gives several of them for one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from sqlglot import exp

from headrace.planning.forms.lowering import Numbers, as_written
from headrace.planning.forms.steps import Form, Step
from headrace.planning.forms.terms import EDITED, Term, atoms, short
from headrace.planning.forms.types import CERTAIN, INTEGERS, TypeOf, of_atoms, type_of
from headrace.planning.forms.unions import ARRIVAL, values

_MOST_ALIKE = 24
"""How many steps are numbered again, of all that there are several of."""

_NUMBER = re.compile(r"#\d+|(?<=[a-z])\d+(?=\.)")
_NAME = re.compile(rf"[\w'{re.escape(EDITED)}]+")
_INNER = ("inner", "cross")
_OF_EACH_ROW = ("left", "left semi", "left anti")

_WRAPPERS = (exp.Filter, exp.IgnoreNulls, exp.RespectNulls)
_COMMUTATIVE = (exp.Count, exp.Min, exp.Max)
_UNORDERED = ("approx_count_distinct", "bit_and", "bit_or", "bit_xor", "bool_and", "bool_or")
"""Aggregates that are the same in whatever order they get their rows."""

_ADDING = ("avg", "try_avg", "try_sum")
"""Aggregates whose last digits depend on the order of their rows, if these are fractions."""

_PICKING = (exp.ArgMax, exp.ArgMin)
_OF_PEERS = ("rank", "dense_rank", "percent_rank", "cume_dist")
"""Functions over windows that give rows which are alike in their order the same value."""

_MOVABLE = (
    *(exp.Column, exp.Identifier, exp.Literal, exp.Boolean, exp.Null, exp.Paren, exp.Cast, exp.DataType, exp.Dot),
    *(exp.DataTypeParam, exp.Predicate, exp.Connector, exp.Not, exp.Neg, exp.Add, exp.Sub, exp.Mul, exp.Div),
    *(exp.Coalesce, exp.Case, exp.If, exp.Upper, exp.Lower, exp.Concat, exp.Interval, exp.Var, exp.Tuple),
)
"""What has the same value for a row wherever it is asked."""


@dataclass(frozen=True)
class Side:
    """One of two texts that are compared.

    `lowered` is its form with the branches of its unions in one order, if so asked, and with other numbers; `is_free`
    is whether these branches may change places. `column` is the type of a column of a table; of rows of one key in a
    batch, the model may keep one only.
    """

    form: Form
    lowered: Callable[[bool, Numbers], Form]
    is_free: Callable[[Form], bool]
    column: TypeOf = lambda _: None
    keeps_one: bool = False


def same(old: Side, new: Side) -> bool:
    """Whether two texts give the same rows, the same number of times.

    Steps of one kind, and scans of one table, are distinguished by numbers, which follow the text. Where that is not
    enough, they are numbered by what each of them does in the query. That takes the time of many forms, so it is not
    asked of texts that do not even consist of the same words.
    """
    goes_by_order = any(_Order(each).counts for each in (old, new))
    if _words(old.form) == _words(new.form):
        return not goes_by_order or _scanned(old.form) == _scanned(new.form)
    if goes_by_order or _letters(old.form) != _letters(new.form):
        return False
    sorts = all(each.is_free(each.form) for each in (old, new))
    one, other = partial(old.lowered, sorts), partial(new.lowered, sorts)
    return _words(one(_numbers(one))) == _words(other(_numbers(other)))


class _Order:
    """Whether the order in which joins give their rows counts for a text."""

    def __init__(self, side: Side) -> None:
        self._steps = [*side.form.root.every()]
        self._type = of_atoms(side.column)
        self._keeps_one = side.keeps_one
        self._multiplies = any(map(_multiplies, self._steps))

    @property
    def counts(self) -> bool:
        aggregates, windows = self._made("aggregates"), self._made("over")
        is_free = all(map(self._is_free, aggregates)) and all(map(self._is_steady, windows))
        return not is_free or (self._keeps_one and self._multiplies)

    def _made(self, part: str) -> Iterator[exp.Expr]:
        found = (atom for step in self._steps for each in step.parts.get(part, ()) for atom in each.atoms)
        yield from (made for atom in found for made in atom.made_of)

    def _is_free(self, made: exp.Expr) -> bool:
        """Whether an aggregate is the same in whatever order."""
        made = _function(made)
        name = made.name.lower() if isinstance(made, exp.Anonymous) else ""
        if isinstance(made, _PICKING):
            return self._is_total([made.expression])
        if isinstance(made, exp.Sum) or name in _ADDING:
            return all(map(self._is_exact, made.expressions if name else [made.this]))
        return isinstance(made, _COMMUTATIVE) or name in _UNORDERED

    def _is_steady(self, window: exp.Expr) -> bool:
        """Whether a window gives each row the same in whatever order: by its peers, or by an order without any."""
        function, order = _function(window.this), window.args.get("order")
        name = function.name.lower() if isinstance(function, exp.Anonymous) else ""
        if isinstance(function, (exp.Rank, exp.DenseRank)) or name in _OF_PEERS:
            return True
        if window.args.get("spec") is None and self._is_free(function):
            return True
        return order is not None and self._is_total([each.this for each in order.expressions])

    def _is_total(self, order: Sequence[exp.Expr]) -> bool:
        """Whether no two rows are alike in an order."""
        return not self._multiplies and any(map(_is_arrival, order))

    def _is_exact(self, tree: exp.Expr) -> bool:
        """Whether the sum of some numbers has all its digits."""
        values = tree.expressions if isinstance(tree, exp.Distinct) else [tree]
        types = [type_of(each, self._type) or "" for each in values]
        return all(each in INTEGERS or each.startswith("decimal") for each in types)


def _is_arrival(tree: exp.Expr) -> bool:
    atom = tree.unnest().meta.get("atom")
    if atom is None:
        return False
    passed = [*values(atom)]
    return all(map(_is_arrival, passed)) if passed else bool(atom.column == ARRIVAL)


def _function(made: exp.Expr) -> exp.Expr:
    while isinstance(made, _WRAPPERS):
        made = made.this
    return made


def _multiplies(step: Step) -> bool:
    """Whether a join may give several rows for one that streams, or is looked up by less than its key."""
    kind = step.parts["kind"][0].key if step.kind == "join" else "semi"
    if kind.endswith(("semi", "anti")):
        return False
    on = step.parts.get("on", ())
    return not (_is_single(step.inputs[1], on) or (kind in _INNER and _is_single(step.inputs[0], on)))


def _is_single(step: Step, on: Sequence[Term]) -> bool:
    """Whether conditions of a join find at most one row of a step: by the key of a table, or of a group."""
    equated = {name for each in on if isinstance(each.tree, exp.EQ) for name in _equated(each, step)}
    if step.kind == "scan":
        keys = step.parts["read"][0].tree.meta.get("unique") or ()
        return bool(keys) and all({f"{step.name}.{key}", f"{step.name}.{key}{EDITED}"} & equated for key in keys)
    if step.kind != "aggregate":
        return False
    return len({each for each in equated if each.startswith(f"{step.name}.")}) == len(step.parts["keys"])


def _equated(condition: Term, step: Step) -> Iterator[str]:
    """The columns of a step that a condition says to be a value of another one."""
    sides = [*condition.tree.iter_expressions()]
    for side, other in (sides, sides[::-1]):
        atom = side.unnest().meta.get("atom")
        is_other = not any(each.name.startswith(f"{step.name}.") for each in atoms(other))
        if atom is not None and atom.kind in ("column", "key") and is_other:
            yield atom.name


def _scanned(form: Form) -> list[str]:
    """What the order of rows depends on: that of tables, and of the keys of groups."""
    keys = (each.key for step in form.root.every() if step.kind == "aggregate" for each in step.parts["keys"])
    return [*(step.name for step in form.scans), *keys]


def _letters(form: Form) -> Counter[str]:
    """The names and values in a form without numbers of steps, as often as they are there; not those of long words."""
    parts = (found for step in form.root.every() for part, found in step.parts.items() if part != "kind")
    filters = (step.filters for step in form.root.every())
    keys = (each.key for found in (form.columns.values(), *parts, *filters) for each in found if "…" not in each.key)
    return Counter(word for key in keys for word in _NAME.findall(_NUMBER.sub("", key)))


def _words(form: Form) -> tuple[object, ...]:
    columns = ((name, term.key) for name, term in form.columns.items())
    return (*columns, _text(_chain(form.root)))


def _numbers(text: Callable[[Numbers], Form]) -> Numbers:
    """Numbers for steps by the words of the query in which one of them stands out; as written, if they are too many."""
    counts = Counter[str]()

    def counted(kind: str, place: int) -> int:
        counts[kind] += 1
        return place

    text(counted)
    found = [(kind, place) for kind, count in counts.items() if count > 1 for place in range(1, count + 1)]
    if len(found) > _MOST_ALIKE:
        return as_written
    order = sorted(found, key=lambda each: (each[0], _words(text(_marked(*each)))))
    first = {kind: at for at, (kind, _) in reversed([*enumerate(order)])}
    return lambda kind, place: order.index((kind, place)) - first[kind] + 1 if kind in first else place


def _marked(kind: str, at: int) -> Numbers:
    return lambda each, place: 2 if (each, place) == (kind, at) else 1


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
    listed = {part: [each.key for each in found] for part, found in step.parts.items()}
    if step.kind == "aggregate":
        listed["keys"].sort()
    parts = _listed(f"{part}={_listed(found)}" for part, found in listed.items())
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
