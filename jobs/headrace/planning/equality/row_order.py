"""Whether the order in which joins give their rows counts for a query.

Joins in another order give their rows in another order. That counts where one of several rows is taken, or each gets a
number: in an aggregate, a window, or by the key of the model. Rows that go by `_arrival` are in one order, as long as
no join gives several of them for one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from sqlglot import exp

from headrace.planning.forms.arrivals import ARRIVAL, multiplies, values
from headrace.planning.forms.steps import Form
from headrace.planning.forms.types import INTEGERS

_WRAPPERS = (exp.Filter, exp.IgnoreNulls, exp.RespectNulls)
_COMMUTATIVE = (exp.Count, exp.Min, exp.Max)
_UNORDERED = ("approx_count_distinct", "bit_and", "bit_or", "bit_xor", "bool_and", "bool_or")
"""Aggregates that are the same in whatever order they get their rows."""

_ADDING = ("avg", "try_avg", "try_sum")
"""Aggregates whose last digits depend on the order of their rows, if these are fractions."""

_PICKING = (exp.ArgMax, exp.ArgMin)
_OF_PEERS = ("rank", "dense_rank", "percent_rank", "cume_dist")
"""Functions over windows that give rows which are alike in their order the same value."""


def counts(form: Form, keeps_one: bool, type_of: Callable[[exp.Expr], str | None]) -> bool:
    """Whether a query may give other rows if its joins give theirs in another order."""
    return _RowOrder(form, keeps_one, type_of).counts


class _RowOrder:
    def __init__(self, form: Form, keeps_one: bool, type_of: Callable[[exp.Expr], str | None]) -> None:
        self._steps = [*form.root.every()]
        self._type = type_of
        self._keeps_one = keeps_one
        self._multiplies = any(map(multiplies, self._steps))

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
        added = tree.expressions if isinstance(tree, exp.Distinct) else [tree]
        types = [self._type(each) or "" for each in added]
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
