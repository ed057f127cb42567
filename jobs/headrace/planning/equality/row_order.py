"""Whether the order in which joins give their rows counts for a query.

Joins in another order give their rows in another order. That counts where one of several rows is taken, or each gets a
number: in an aggregate, a window, or by the key of the model. Rows that go by `_arrival` are in one order, as long as
each has another one: not where a join or `explode` gives several for one, or it is that of a row that is looked up.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot import exp

from headrace.planning.forms import arrivals
from headrace.planning.forms.arrivals import ARRIVAL
from headrace.planning.forms.durations import TypeOf
from headrace.planning.forms.steps import Form, Step
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


def deciding(form: Form, keeps_one: bool, type_of: TypeOf) -> list[Step]:
    """The steps of a query that may give other rows if those below them come in another order."""
    return _RowOrder(form, keeps_one, type_of).deciding


class _RowOrder:
    def __init__(self, form: Form, keeps_one: bool, type_of: TypeOf) -> None:
        self._form = form
        self._type = type_of
        self._keeps_one = keeps_one

    @property
    def deciding(self) -> list[Step]:
        found = [step for step in self._form.root.every() if self._decides(step)]
        return [self._form.root, *found] if self._keeps_one and not self._is_told_apart else found

    def _decides(self, step: Step) -> bool:
        is_free = all(self._is_free(each, step.inputs[0]) for each in _made(step, "aggregates"))
        return not (is_free and all(self._is_steady(each, step.inputs[0]) for each in _made(step, "over")))

    @property
    def _is_told_apart(self) -> bool:
        """Whether the rows of the result have each another arrival."""
        arrival = self._form.columns.get(ARRIVAL)
        return arrival is not None and self._is_total([arrival.tree], self._form.root)

    def _is_free(self, made: exp.Expr, rows: Step) -> bool:
        """Whether an aggregate is the same in whatever order."""
        made = _function(made)
        name = made.name.lower() if isinstance(made, exp.Anonymous) else ""
        if isinstance(made, _PICKING):
            return self._is_total([made.expression], rows)
        if isinstance(made, exp.Sum) or name in _ADDING:
            return all(map(self._is_exact, made.expressions if name else [made.this]))
        return isinstance(made, _COMMUTATIVE) or name in _UNORDERED

    def _is_steady(self, window: exp.Expr, rows: Step) -> bool:
        """Whether a window gives each row the same in whatever order: by its peers, or by an order without any."""
        function, order = _function(window.this), window.args.get("order")
        name = function.name.lower() if isinstance(function, exp.Anonymous) else ""
        if isinstance(function, (exp.Rank, exp.DenseRank)) or name in _OF_PEERS:
            return True
        if window.args.get("spec") is None and self._is_free(function, rows):
            return True
        return order is not None and self._is_total([each.this for each in order.expressions], rows)

    def _is_total(self, order: Sequence[exp.Expr], rows: Step) -> bool:
        """Whether no two rows are alike in an order."""
        return any(arrivals.is_unique(each, rows, _of_any_topic, self._type) for each in order)

    def _is_exact(self, tree: exp.Expr) -> bool:
        """Whether the sum of some numbers has all its digits."""
        added = tree.expressions if isinstance(tree, exp.Distinct) else [tree]
        types = [self._type(each) or "" for each in added]
        return all(each in INTEGERS or each.startswith("decimal") for each in types)


def _made(step: Step, part: str) -> Iterator[exp.Expr]:
    """What a step makes of many rows."""
    for each in step.parts.get(part, ()):
        yield from (made for atom in each.atoms for made in atom.made_of)


def _of_any_topic(_: str) -> frozenset[str]:
    """Branches of a union stay in their order, so their arrivals need not be of other topics."""
    return frozenset()


def _function(made: exp.Expr) -> exp.Expr:
    while isinstance(made, _WRAPPERS):
        made = made.this
    return made
