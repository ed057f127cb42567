"""The range of a value, as far as its text shows it: constants, and values of rows that it bounds.

`least(n, 1000)`, `n % 100`, `cast(n as tinyint)`, `month(t)` and `case` with such branches are bounded; so is what
tells how much a row holds, such as `length(t)` and `size(a)`. Nothing is known of a column by itself. Times count in
seconds, as only their differences matter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from decimal import Decimal, DecimalException

from sqlglot import exp

from headrace.project.sql.guard.builtins import words
from headrace.project.sql.guard.forms import arguments, name_of

_ZERO, _ONE, _ENDLESS = Decimal(0), Decimal(1), Decimal("Infinity")


@dataclass(frozen=True)
class Range:
    """The numbers from `low` to `high`, and so many times as much as a row holds `below` and `above` them."""

    low: Decimal = -_ENDLESS
    high: Decimal = _ENDLESS
    below: Decimal = _ZERO
    above: Decimal = _ZERO

    @property
    def is_of_row(self) -> bool:
        """Whether its ends depend on how much a row holds."""
        return bool(self.below or self.above)

    @property
    def farthest(self) -> Decimal:
        """How far from zero it goes, what a row holds aside."""
        return max(abs(self.low), abs(self.high))

    @property
    def most(self) -> Decimal:
        """How large it may be, if what a row holds counts as one."""
        return self.high + self.above

    @property
    def least(self) -> Decimal:
        """How small it may be, if what a row holds counts as one."""
        return self.low - self.below


ANYTHING = Range()
DAY = Decimal(86_400)
_HELD = Range(-_ONE, _ZERO, above=_ONE)
SECONDS = {
    "MICROSECOND": (Decimal("1e-6"),), "MILLISECOND": (Decimal("1e-3"),), "SECOND": (_ONE,), "MINUTE": (Decimal(60),),
    "HOUR": (Decimal(3600),), "DAY": (DAY,), "WEEK": (7 * DAY,), "MONTH": (28 * DAY, 31 * DAY),
    "YEAR": (365 * DAY, 366 * DAY),
}  # fmt: skip
_BY_NATURE = {
    "ascii": (0, 0x10FFFF), "bit_count": (0, 64), "day": (1, 31), "dayofmonth": (1, 31), "dayofweek": (1, 7),
    "dayofyear": (1, 366), "hour": (0, 23), "minute": (0, 59), "month": (1, 12), "quarter": (1, 4), "second": (0, 60),
    "sign": (-1, 1), "signum": (-1, 1), "week": (1, 53), "weekday": (0, 6), "weekofyear": (1, 53),
}  # fmt: skip
HOLDINGS = words(
    """
    array_position array_size bit_length cardinality char_length character_length find_in_set instr json_array_length
    len length levenshtein locate octet_length position regexp_count regexp_instr size
    """
)
"""Functions that give the size of a text or an array, or a position in it."""

_NARROW = {"tinyint": Range(Decimal(-128), Decimal(127)), "smallint": Range(Decimal(-32_768), Decimal(32_767))}
_CASTS = frozenset({"bigint", "decimal", "double", "float", "int", "string"})
_SAME = frozenset(
    {
        "any_value",
        "avg",
        "first",
        "first_value",
        "last",
        "last_value",
        "max",
        "mean",
        "min",
        "nullif",
        "nullifzero",
        "positive",
    }
)
_CHOICES = {"coalesce": 0, "ifnull": 0, "nanvl": 0, "nvl": 0, "if": 1, "nvl2": 1}
"""Functions that give one of their arguments, and from which on."""

_ROUNDED = frozenset({"bround", "ceil", "ceiling", "floor", "rint", "round"})
_OVER_ELEMENTS = frozenset({"exists", "filter", "forall", "transform"})


def range_of(node: exp.Expr) -> Range:
    """The range of a value that is not null."""
    try:
        return _range(node)
    except (ArithmeticError, DecimalException, LookupError, ValueError):
        return ANYTHING


def difference(one: Range, other: Range) -> Range:
    """How far it is from one value to another one."""
    return _sum(other, _times(one, _point(-_ONE)))


def times(value: Range, factor: Decimal) -> Range:
    """The range of a multiple of the value."""
    return _times(value, _point(factor))


def extreme(ranges: Sequence[Range], *, is_least: bool) -> Range:
    """The least or the greatest of some values. Nulls are passed over, so that only a constant bounds the others."""
    found, fixed = _hull(ranges), [each for each in ranges if each.low == each.high and not each.is_of_row]
    if not fixed:
        return found
    if is_least:
        return replace(found, high=min(each.high for each in fixed), above=_ZERO)
    return replace(found, low=max(each.low for each in fixed), below=_ZERO)


def is_time(node: exp.Expr) -> bool:
    """Whether a value is certainly a time that is written out."""
    return isinstance(node, exp.Cast) and node.to.is_type(*exp.DataType.TEMPORAL_TYPES) and node.this.is_string


def _range(node: exp.Expr) -> Range:
    match node:
        case exp.Literal():
            return _point(Decimal(node.name.strip()))
        case exp.Paren() | exp.Alias():
            return range_of(node.this)
        case exp.Placeholder():
            return _HELD  # a variable holds what the author of the project has written
        case exp.Identifier():
            return _of_variable(node)
        case exp.Neg():
            return _times(range_of(node.this), _point(-_ONE))
        case exp.Interval():
            lengths = SECONDS[node.args["unit"].name.upper().removesuffix("S")]
            return _hull(_times(range_of(node.this), _point(length)) for length in lengths)
        case exp.Cast():
            return _cast(node)
        case exp.Extract():
            return _by_nature(node.this.name)
        case exp.Case():
            return _hull(
                range_of(each) for each in (*(branch.args["true"] for branch in node.args["ifs"]), *_default(node))
            )
        case exp.Predicate():
            return Range(_ZERO, _ONE)
        case exp.Binary() if type(node) in _OPERATORS:
            return _OPERATORS[type(node)](range_of(node.left), range_of(node.right))
    name = name_of(node)
    return ANYTHING if name is None else _call(name, arguments(node))


def _call(name: str, values: Sequence[exp.Expr]) -> Range:
    if name in _BY_NATURE:
        return _by_nature(name)
    if name in ("date_part", "datepart"):
        return _by_nature(values[0].name)
    if name in HOLDINGS:
        return _times(_HELD, _point(Decimal(8))) if name == "bit_length" else _HELD
    if name in ("least", "greatest"):
        return extreme([range_of(value) for value in values], is_least=name == "least")
    if name in _CHOICES:
        return _hull(map(range_of, values[_CHOICES[name] :]))
    first = range_of(values[0])
    if name in _NARROW:
        return _within(first, _NARROW[name])
    if name in _CASTS or name in _SAME:
        return first
    if name in ("mod", "pmod"):
        return _remainder(first, range_of(values[1]))
    if name in ("pow", "power"):
        return _power(first, range_of(values[1]))
    if name == "abs":
        return Range(_ZERO, first.farthest, above=max(first.below, first.above))
    if name == "sqrt":
        return Range(_ZERO, max(first.high, _ONE), above=first.above)
    if name in _ROUNDED and all(range_of(places).low >= 0 for places in values[1:]):
        return replace(first, low=first.low - 1, high=first.high + 1)
    return ANYTHING


def _point(number: Decimal) -> Range:
    return Range(number, number)


def _hull(ranges: Iterable[Range]) -> Range:
    found = [*ranges]
    low, high = min(each.low for each in found), max(each.high for each in found)
    return Range(low, high, max(each.below for each in found), max(each.above for each in found))


def _default(node: exp.Case) -> Iterable[exp.Expr]:
    return () if node.args.get("default") is None else (node.args["default"],)


def _by_nature(name: str) -> Range:
    low, high = _BY_NATURE[name.lower()]
    return Range(Decimal(low), Decimal(high))


def _cast(node: exp.Cast) -> Range:
    if is_time(node):
        found = datetime.fromisoformat(node.this.name)
        return _point(Decimal((found if found.tzinfo else found.replace(tzinfo=timezone.utc)).timestamp()))
    if node.to.is_type(*exp.DataType.TEMPORAL_TYPES):
        return ANYTHING
    value, kind = range_of(node.this), node.to.this.value.lower()
    if kind == "decimal" and node.to.expressions:
        digits, scale, *_ = (*(int(each.name) for each in node.to.expressions), 0)
        largest = Decimal(10) ** (digits - scale)
        return _within(value, Range(-largest, largest))
    return _within(value, _NARROW[kind]) if kind in _NARROW else value


def _within(value: Range, kind: Range) -> Range:
    """What a narrow type leaves of a value: what does not fit is an error, or another value of the type."""
    fits = kind.low <= value.low and value.high <= kind.high and not value.is_of_row
    return value if fits else kind


def _remainder(value: Range, by: Range) -> Range:
    row = max(by.below, by.above)
    return Range(_ZERO, by.farthest, above=row) if value.least >= 0 else Range(-by.farthest, by.farthest, row, row)


def _power(base: Range, to: Range) -> Range:
    is_fixed = base.low == base.high and to.low == to.high and not base.is_of_row and not to.is_of_row
    return _point(base.low ** min(to.low, Decimal(99))) if is_fixed else ANYTHING


def _sum(one: Range, other: Range) -> Range:
    return Range(one.low + other.low, one.high + other.high, one.below + other.below, one.above + other.above)


def _times(one: Range, other: Range) -> Range:
    if one.is_of_row and other.is_of_row:
        return ANYTHING
    if other.is_of_row:
        one, other = other, one
    ends = [a * b for a in (one.low, one.high) for b in (other.low, other.high)]
    if not one.is_of_row:
        return Range(min(ends), max(ends))
    sides = [one.below * other.farthest, one.above * other.farthest]
    if other.low < 0:
        sides = sides[::-1] if other.high <= 0 else [max(sides)] * 2
    return Range(min(ends), max(ends), *sides)


def _quotient(one: Range, by: Range) -> Range:
    if by.low == by.high and not by.is_of_row:
        return _times(one, _point(1 / by.low))
    return replace(one, low=min(one.low, _ZERO), high=max(one.high, _ZERO)) if by.least >= 1 else ANYTHING


def _and(one: Range, other: Range) -> Range:
    masks = [each.high for each in (one, other) if each.low >= 0 and not each.is_of_row]
    return Range(_ZERO, min(masks)) if masks else ANYTHING


def _shifted(one: Range, by: Range) -> Range:
    """What is shifted out is lost, so that a negative number may become a large one."""
    return _times(one, _power(_point(Decimal(2)), by)) if one.least >= 0 else ANYTHING


_OPERATORS: dict[type[exp.Expr], Callable[[Range, Range], Range]] = {
    exp.Add: _sum,
    exp.Sub: lambda one, other: _sum(one, _times(other, _point(-_ONE))),
    exp.Mul: _times,
    exp.Div: _quotient,
    exp.IntDiv: _quotient,
    exp.Mod: _remainder,
    exp.BitwiseAnd: _and,
    exp.BitwiseLeftShift: _shifted,
}


def _of_variable(name: exp.Identifier) -> Range:
    """The range of a lambda's variable over a sequence: that of the sequence's ends."""
    owner = name.find_ancestor(exp.Lambda)
    while owner is not None and name.name not in [each.name for each in owner.expressions]:
        owner = owner.find_ancestor(exp.Lambda)
    call = owner.parent if owner is not None else None
    if owner is None or call is None or name_of(call) not in _OVER_ELEMENTS:
        return ANYTHING
    over = arguments(call)[0]
    if name_of(over) != "sequence" or owner.expressions[0].name != name.name:
        return ANYTHING
    return _hull(map(range_of, arguments(over)[:2]))
