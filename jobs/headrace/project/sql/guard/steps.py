"""How many steps it is from one value to another one: the elements of a sequence, the rows of a range."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from sqlglot import exp

from headrace.project.sql.guard.bounds import ANYTHING, DAY, Range, difference, extreme, is_time, range_of, times
from headrace.project.sql.guard.builtins import words
from headrace.project.sql.guard.forms import arguments, name_of

_ONE = Decimal(1)
_OF_TIMES = words(
    "current_date current_timestamp date date_add date_trunc dateadd now timestamp to_date to_timestamp trunc"
)


def count(values: Sequence[exp.Expr], *, is_range: bool) -> Decimal | None:
    """The steps from start to stop, in arguments as `sequence` takes them; None where nothing bounds them."""
    start, stop = values[:2] if len(values) > 1 else (exp.Literal.number(0), values[0])
    has_step, is_of_times = len(values) > 2, any(map(_is_of_times, values[:2]))
    span = _span(start, stop)
    step = range_of(values[2]) if has_step else Range(*[DAY if is_of_times else _ONE] * 2)
    if has_step and _is_of_times(values[2]) and not is_of_times:
        span = times(span, DAY)  # dates, to which days were added as a number
    upward, downward, shortest = span.most, -span.least, min(abs(step.low), abs(step.high))
    if not has_step and not is_range:
        extent = max(upward, downward)  # a sequence that ends before it starts goes down
    elif step.least > 0 or step.most < 0:
        extent = upward if step.least > 0 else downward
    elif is_of_times or not any(range_of(each) != ANYTHING for each in (start, stop)):
        return None
    else:
        extent, shortest = max(upward, downward), _ONE  # a step between whole numbers is one at least
    return max(extent / shortest, _ONE) if extent.is_finite() else None


def _span(start: exp.Expr, stop: exp.Expr) -> Range:
    """How far it is from one value to the other."""
    if isinstance(stop, exp.Paren):
        return _span(start, stop.this)
    if stop == start:
        return Range(Decimal(0), Decimal(0))
    if isinstance(stop, exp.Add) and start in (stop.left, stop.right):
        return range_of(stop.right if stop.left == start else stop.left)
    if isinstance(stop, exp.Sub) and stop.left == start:
        return times(range_of(stop.right), -_ONE)
    name, values = name_of(stop), arguments(stop)
    if name in ("date_add", "dateadd") and len(values) == 2 and values[0] == start:
        return times(range_of(values[1]), DAY)
    if name in ("least", "greatest"):
        return extreme([_span(start, each) for each in values], is_least=name == "least")
    return difference(range_of(start), range_of(stop))


def _is_of_times(node: exp.Expr) -> bool:
    return node.find(exp.Interval) is not None or any(
        is_time(each) or name_of(each) in _OF_TIMES for each in node.walk()
    )
