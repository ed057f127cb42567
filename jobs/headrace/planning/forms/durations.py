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
    node = _of_call(node, type_of)
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


def _of_call(node: exp.Expr, type_of: TypeOf) -> exp.Expr:
    """`t + make_dt_interval(0, 0, 1, 30)` is `t + interval 90 seconds`, if `t` is a time."""
    call = node.args["expression"].unnest() if isinstance(node, (exp.Add, exp.Sub)) else None
    if not isinstance(call, exp.Anonymous) or call.name.lower() != "make_dt_interval":
        return node
    numbers = [terms.key(each) for each in call.expressions]
    is_plain = all(map(str.isdecimal, numbers))
    if not is_plain or type_of(node.this) != "timestamp":
        return node
    seconds = sum(int(number) * unit for number, unit in zip(numbers, (86400, 3600, 60, 1), strict=False))
    length = exp.Interval(this=exp.Literal.string(str(seconds)), unit=exp.Var(this="second"))
    length.meta.update(terms.notes(call))
    made = type(node)(this=node.this, expression=length)
    made.meta.update(terms.notes(node))
    return made
