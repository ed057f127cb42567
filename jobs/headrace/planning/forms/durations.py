"""Intervals in one form, as far as their type allows: a day after a date is a date, 24 hours after it are a time."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from headrace.planning.forms import terms

TypeOf = Callable[[exp.Expr], str | None]
"""The type of a resolved expression, where it is certain."""

_COMPARED = (exp.EQ, exp.NEQ, exp.NullSafeEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Between)


def in_one_form(node: exp.Expr, type_of: TypeOf) -> exp.Expr:
    """A resolved node, in which intervals that are added or compared say how long they are, in whatever units."""
    parts = [*node.iter_expressions()]
    for each in parts if isinstance(node, (exp.Add, exp.Sub, *_COMPARED)) else ():
        length = terms.length(each) if isinstance(each, exp.Interval) else None
        if length is None:
            continue
        others = [other for other in parts if other is not each]
        types = {type_of(other) for other in others}
        is_free = isinstance(node, _COMPARED) or "timestamp" in types
        if not is_free and types != {"date"}:
            continue  # perhaps another interval: the result has the units of both
        each.meta["length"] = f"{length.seconds} {'days' if length.units == {'day'} and not is_free else 'seconds'}"
    return node
