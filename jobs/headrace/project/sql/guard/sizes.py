"""Sizes that a text writes down: what makes more than memory holds of constants is refused before it runs.

A size that depends on rows is known only when they are there, and not judged here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, timezone
from decimal import Decimal, DecimalException
from math import prod

from sqlglot import exp

MOST = 1_000_000
"""How many characters, elements or rows may come of constants, one call in another included."""

Number = Decimal | None
_DAY = Decimal(86_400)
_SECONDS = {
    "MICROSECOND": Decimal("1e-6"), "MILLISECOND": Decimal("1e-3"), "SECOND": Decimal(1), "MINUTE": Decimal(60),
    "HOUR": Decimal(3600), "DAY": _DAY, "WEEK": 7 * _DAY, "MONTH": 28 * _DAY, "YEAR": 365 * _DAY,
}  # fmt: skip


def _steps(values: Sequence[Number], *, of_times: bool) -> Number:
    start, stop = values[:2] if len(values) > 1 else (Decimal(0), *values)
    step = values[2] if len(values) > 2 else _DAY if of_times else Decimal(1)
    if start is None or stop is None or step is None:
        return None
    return abs(stop - start) / abs(step) if step else None


_COUNTS = {"array_repeat": 1, "lpad": 1, "randstr": 0, "repeat": 1, "rpad": 1, "space": 0}
"""Functions whose results are as large as one of their arguments says, and which."""

_STEPS = frozenset({"range", "sequence"})
NAMES = frozenset((*_COUNTS, *_STEPS))
"""Functions whose results are as large as their arguments say."""

_OPERATORS: dict[type[exp.Expr], Callable[[Decimal, Decimal], Decimal]] = {
    exp.Add: lambda left, right: left + right,
    exp.Sub: lambda left, right: left - right,
    exp.Mul: lambda left, right: left * right,
    exp.Div: lambda left, right: left / right,
    exp.IntDiv: lambda left, right: left // right,
    exp.BitwiseLeftShift: lambda left, right: left * 2 ** min(right, Decimal(64)),
}
_CASTS = frozenset({"bigint", "decimal", "double", "float", "int", "smallint", "string", "tinyint"})


def faults(tree: exp.Expr) -> Iterator[tuple[int, str]]:
    """Find what is too large, or of a size that cannot be told, in a tree whose functions are names with arguments.

    Each has its offset in the text, and what to do.
    """
    weights: dict[int, Decimal] = {}
    _weigh(tree, weights)
    for node in tree.walk():
        if (call := _called(node)) and _is_untold(node):
            yield _offset(node), f"`{call}`: write its size as a number, so that it can be told beforehand"
        elif (size := weights[id(node)]) > MOST and all(weights[id(each)] <= MOST for each in node.iter_expressions()):
            what = f"`{call}` makes" if call else "these calls together make"
            yield _offset(node), f"{what} {size:,.0f} characters, elements or rows; {MOST:,} are the most here"


def _weigh(node: exp.Expr, weights: dict[int, Decimal]) -> Decimal:
    """How much a part of a tree makes of constants: calls in calls, and rows that meet in a join, multiply.

    What each part of it makes is put into `weights`, by the id of its node.
    """
    below = [_weigh(child, weights) for child in node.iter_expressions()]
    multiplies = isinstance(node, exp.Select) or any(isinstance(each, exp.Lambda) for each in node.iter_expressions())
    inner = prod(below, start=Decimal(1)) if multiplies else max(below, default=Decimal(1))
    own = _size(node)
    weights[id(node)] = min(inner * max(own or Decimal(1), Decimal(1)), Decimal("1e30"))
    return weights[id(node)]


def _called(node: exp.Expr) -> str | None:
    name = node.name.lower() if isinstance(node, exp.Anonymous) else None
    return name if name in NAMES else None


def _size(node: exp.Expr) -> Number:
    name = _called(node)
    arguments = node.expressions
    if name in _STEPS and arguments:
        return _steps([_number(each) for each in arguments[:3]], of_times=any(map(_is_time, arguments[:2])))
    at = _COUNTS.get(name or "", len(arguments))
    return _number(arguments[at]) if at < len(arguments) else None


def _is_untold(node: exp.Expr) -> bool:
    """Whether a size is constant, and yet not known here."""
    arguments = node.expressions
    chosen = arguments[:3] if _called(node) in _STEPS else arguments[_COUNTS[_called(node) or ""] :][:1]
    is_named = any(isinstance(each, exp.Kwarg) for each in arguments)
    return is_named or any(_is_constant(each) and _number(each) is None for each in chosen)


def _is_constant(node: exp.Expr) -> bool:
    return node.find(exp.Identifier, exp.Placeholder, exp.Query) is None


def _number(node: exp.Expr) -> Number:
    """The value of a constant; a time counts in seconds, as its difference to another one is what matters."""
    try:
        return _computed(node)
    except (ArithmeticError, DecimalException, ValueError):
        return None


def _computed(node: exp.Expr) -> Number:
    match node:
        case exp.Literal():
            return Decimal(node.name.strip())
        case exp.Paren():
            return _computed(node.this)
        case exp.Neg():
            return _applied(lambda only: -only, [node.this])
        case exp.Cast() if _is_time(node):
            return _moment(node.this.name)
        case exp.Cast():
            return _computed(node.this)
        case exp.Interval() if node.args.get("unit") is not None:
            unit = node.args["unit"].name.upper().removesuffix("S")
            return _applied(lambda count: count * _SECONDS[unit], [node.this]) if unit in _SECONDS else None
        case exp.Anonymous() if node.name.lower() in _CASTS:
            return _computed(node.expressions[0]) if node.expressions else None
        case exp.Anonymous() if node.name.lower() in ("pow", "power"):
            return _applied(lambda base, power: base ** min(power, Decimal(99)), node.expressions)
        case exp.Binary() if type(node) in _OPERATORS:
            return _applied(_OPERATORS[type(node)], [node.left, node.right])
    return None


def _applied(apply: Callable[..., Decimal], operands: Iterable[exp.Expr]) -> Number:
    values = [_computed(operand) for operand in operands]
    return None if None in values else apply(*values)


def _is_time(node: exp.Expr) -> bool:
    return isinstance(node, exp.Cast) and node.to.is_type(*exp.DataType.TEMPORAL_TYPES) and node.this.is_string


def _moment(text: str) -> Decimal:
    found = datetime.fromisoformat(text)
    return Decimal((found if found.tzinfo else found.replace(tzinfo=timezone.utc)).timestamp())


def _offset(node: exp.Expr) -> int:
    return min((int(each.meta["start"]) for each in node.walk() if "start" in each.meta), default=0)
