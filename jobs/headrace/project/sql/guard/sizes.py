"""Sizes that a call is given: what may make more than memory holds is refused before it runs.

A size is a constant, or bounded by its text (`bounds`), or tells how much the row itself holds. Calls in calls
multiply, and so do rows that meet in a join. Whatever a row holds counts as one: how large rows may be is decided
where they land.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from math import prod
from types import MappingProxyType

from sqlglot import exp

from headrace.project.sql import lexing
from headrace.project.sql.guard import steps
from headrace.project.sql.guard.bounds import SECONDS, Range, range_of
from headrace.project.sql.guard.forms import arguments, is_constant, name_of, offset, text_of
from headrace.project.sql.guard.growth import lengths, queries

MOST = 1_000_000
"""How many characters, elements or rows may come of calls with sizes, one call in another included."""

MOST_PLACES = 400
"""How many decimal places a number may be rounded to: a double has no more."""

MOST_REGISTERS = 20_000
"""How many counters `approx_count_distinct` may have: Spark plans ten of them as a column."""

MOST_ROWS = 1_000
"""Into how many rows windows and grouping sets may multiply one: Spark plans each of them by itself."""

_ONE = Decimal(1)
_PLAIN = (exp.Identifier, exp.Literal, exp.DataType, exp.Star, exp.Null, exp.Boolean, exp.Var)
"""What is no call, and has mostly nothing below it."""

_COLUMN = "."
"""The prefix of aliases among the names of macros and views."""

NOTHING: Mapping[str, Decimal] = MappingProxyType({})
_LARGEST = Decimal("1e30")
_COUNTS = {
    "array_insert": 1, "array_repeat": 1, "format_number": 1, "lpad": 1, "randstr": 0, "repeat": 1, "rpad": 1,
    "space": 0, "stack": 0,
}  # fmt: skip
"""Functions whose results are as large as one of their arguments says, and which."""

_PLACES = {"bround": 1, "ceil": 1, "ceiling": 1, "floor": 1, "round": 1}
_SKETCHES: Mapping[str, Callable[[Decimal], Decimal]] = {
    "approx_count_distinct": lambda error: (Decimal("1.106") / error) ** 2,
    "count_min_sketch": lambda error: 32 * 2 / error,
}
"""Aggregates that take as much memory as their second argument is small."""

_STEPS = frozenset({"range", "sequence"})
_FORMATS = frozenset({"format_string", "printf"})
_OF_OTHERS = frozenset((*_PLACES, *_SKETCHES))
"""Functions of which something else than characters, elements and rows is counted."""

NAMES = frozenset((*_COUNTS, *_OF_OTHERS, *_STEPS, *_FORMATS, "window"))
"""Functions whose results, or whose work, are as large as their arguments say."""

_COPIES = frozenset({"array_repeat", "repeat"})
"""Those of them that put a value of any size again and again."""

_MAKES_ROWS = frozenset(
    {"explode", "explode_outer", "inline", "inline_outer", "posexplode", "posexplode_outer", "stack", "window"}
)
_WIDTH = re.compile(r"%[^a-zA-Z%]*?(\d+)?(?:\.(\d+))?[a-zA-Z%]")
_SPAN = re.compile(r"(\d+)\s*([a-z]+?)s?\b")

_MULTIPLYING = NAMES | lengths.NAMES | {"cube", "grouping", "recursive", "rollup"}
WAY_OUT = "bound it with `least(..., 1000)`"


def may_multiply(text: str) -> bool:
    """Whether a text names anything of which there may be too much."""
    return "||" in text or not _MULTIPLYING.isdisjoint(name for name, _ in lexing.names(text))


def faults(tree: exp.Expr, known: Mapping[str, Decimal] = NOTHING) -> Iterator[tuple[int, str]]:
    """Find what is too large, or of a size that cannot be computed, in a tree whose functions are names with arguments.

    Each has its offset in the text, and what to do. `known` is how much macros and views make.
    """
    weights = dict[int, Decimal]()
    _weigh(tree, weights, known)
    for node, copies in queries.growths(tree):
        if copies > 1 and (size := weights[id(node)] * copies) > MOST >= weights[id(node)]:
            yield (
                offset(node),
                f"these calls together make {size:,.0f} times what a row holds; {MOST:,} are the most here",
            )
            break
    for node in tree.walk():
        call = _called(node)
        if call and _is_untold(node, call):
            yield offset(node), f"`{call}`: write its size as a number, so that it is known in advance"
        elif (limit := _limit(node, call)) and (size := _size(node) or _ONE) > limit[0]:
            yield (
                offset(node),
                f"`{call or 'group by'}` asks for {size:,.0f} {limit[1]}; {limit[0]:,} are the most here",
            )
        elif (size := weights[id(node)]) > MOST and all(weights[id(each)] <= MOST for each in node.iter_expressions()):
            what = f"`{call}` makes" if call else "these calls together make"
            yield offset(node), f"{what} {size:,.0f} characters, elements or rows; {MOST:,} are the most here"


def unbounded(tree: exp.Expr) -> Iterator[tuple[int, str]]:
    """Find the calls that are given sizes by rows, and have no bound: offset, and what to do."""
    for node in tree.walk():
        call = _called(node)
        if call and _size(node) is None and not _is_untold(node, call):
            yield offset(node), f"`{call}`: {_advice(node, call)}"


def weight(tree: exp.Expr, known: Mapping[str, Decimal] = NOTHING) -> Decimal:
    """How much a tree makes of one at most."""
    return _weigh(tree, {}, known) * max((copies for _, copies in queries.growths(tree)), default=1)


def _weigh(node: exp.Expr, weights: dict[int, Decimal], known: Mapping[str, Decimal]) -> Decimal:
    """Calls in calls, rows that meet in a join, and what is made of rows multiply; the rest stands side by side."""
    if isinstance(node, _PLAIN) and next(node.iter_expressions(), None) is None:
        weights[id(node)] = _ONE  # that is half of all nodes
        return _ONE
    with_ = node.args.get("with_")
    if with_ is not None:
        for cte in with_.expressions:
            known = {**known, cte.alias.lower(): _weigh(cte, weights, known)}
        weights[id(with_)] = _ONE
    children = [child for child in node.iter_expressions() if child is not with_]
    below, aliases = dict[int, Decimal](), known
    for child in children:
        is_value = isinstance(node, exp.Select) and child.arg_key == "expressions"
        below[id(child)] = _weigh(child, weights, aliases if is_value else known)
        if is_value and child.alias:
            aliases = {**aliases, _COLUMN + child.alias.lower(): below[id(child)]}
    if isinstance(node, exp.Select):
        rows = [weights[id(each)] for child in children for each in _rows(child)]
        wide = max((weights[id(each)] for child in children for each in _side_by_side(child)), default=_ONE)
        inner = prod(rows, start=wide)
    elif isinstance(node, exp.Group):
        inner = _ONE  # its keys are weighed by the select
    elif any(isinstance(child, exp.Lambda) for child in children):
        inner = prod(below.values(), start=_ONE)
    else:
        inner = max(below.values(), default=_ONE)
    weights[id(node)] = min(inner * max(_own(node, known), _ONE), _LARGEST)
    return weights[id(node)]


def _own(node: exp.Expr, known: Mapping[str, Decimal]) -> Decimal:
    """How much a node makes of one, apart from what is below it."""
    if isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier):
        return known.get(".".join(part.name.lower() for part in node.parts), _ONE)
    if isinstance(node, exp.Column):
        return known.get(_COLUMN + node.name.lower(), _ONE)
    if isinstance(node, exp.Anonymous) and node.name.lower() in known:
        return known[node.name.lower()]
    return _ONE if _called(node) in _OF_OTHERS else _size(node) or _ONE


def _rows(part: exp.Expr) -> list[exp.Expr]:
    """What of a part of a select decides how many rows there are."""
    if isinstance(part, (exp.From, exp.Join, exp.Lateral)):
        return [part.this]
    if isinstance(part, exp.Group):
        return [part, *(each for each in part.expressions if _makes_rows(each))]
    return [part] if _makes_rows(part) else []


def _side_by_side(part: exp.Expr) -> list[exp.Expr]:
    """The parts of a select that do not multiply each other: columns, conditions, keys."""
    is_split = isinstance(part, (exp.From, exp.Join, exp.Lateral, exp.Group))
    return [each for each in (part.iter_expressions() if is_split else [part]) if each not in _rows(part)]


def _makes_rows(value: exp.Expr) -> bool:
    return isinstance(value, exp.Aliases) or name_of(value.unalias()) in _MAKES_ROWS


def _called(node: exp.Expr) -> str | None:
    name = name_of(node)
    return name if name in NAMES and (name not in _PLACES or len(arguments(node)) > 1) else None


def _limit(node: exp.Expr, call: str | None) -> tuple[int, str] | None:
    """Of what a call makes, other than characters, elements and rows, and how many of them at most."""
    if call in _PLACES:
        return MOST_PLACES, "decimal places"
    if call in _SKETCHES:
        return MOST_REGISTERS if call == "approx_count_distinct" else MOST, "counters"
    if call == "window":
        return MOST_ROWS, "windows of each row"
    return (MOST_ROWS, "groups of each row") if isinstance(node, exp.Group) else None


def _size(node: exp.Expr) -> Decimal | None:
    """How much a node makes of one; None where nothing bounds it."""
    if isinstance(node, exp.Group):
        return _grouping_sets(node)
    if (name := _called(node)) is None or not (values := arguments(node)):
        return _ONE
    if name in _STEPS:
        return steps.count(values, is_range=name == "range")
    if name in _FORMATS:
        return _written(values[0])
    if name == "window":
        return _windows(values)
    return _counters(name, values) if name in _SKETCHES else _given(name, values)


def _given(name: str, values: Sequence[exp.Expr]) -> Decimal | None:
    """What the argument says that decides on the size of a call."""
    at = {**_COUNTS, **_PLACES}[name]
    if at >= len(values) or (name == "format_number" and text_of(values[at]) is not None):
        return _ONE
    size = range_of(values[at])
    if name in _COPIES and size.above and not is_constant(values[0]):
        return None  # as much as a row holds, as often as a row holds something
    most = max(size.most, -size.least) if name in (*_PLACES, "array_insert") else size.most
    return most if most.is_finite() else None


def _written(pattern: exp.Expr) -> Decimal | None:
    """The widths and precisions in a format."""
    text = text_of(pattern)
    return None if text is None else _ONE + sum(int(each or 0) for found in _WIDTH.findall(text) for each in found)


def _counters(name: str, values: Sequence[exp.Expr]) -> Decimal | None:
    error = range_of(values[1]) if len(values) > 1 else Range(_ONE, _ONE)
    return _SKETCHES[name](error.low) if error.low > 0 else None


def _windows(values: Sequence[exp.Expr]) -> Decimal | None:
    """In how many windows a time is, if they slide."""
    if len(values) < 3 or any(each.find(exp.Placeholder) for each in values[1:3]):
        return _ONE
    length, slide = map(_seconds, values[1:3])
    return length / slide if length.is_finite() and slide > 0 else None


def _seconds(node: exp.Expr) -> Decimal:
    text = text_of(node)
    if text is None:
        return range_of(node).high
    parts = [(number, unit) for number, unit in _SPAN.findall(text.lower()) if unit.upper() in SECONDS]
    return sum((int(number) * SECONDS[unit.upper()][0] for number, unit in parts), Decimal(0))


def _grouping_sets(group: exp.Group) -> Decimal:
    """Into how many sets of groups a row goes."""
    keys = [each for each in group.expressions if not isinstance(each, (exp.Cube, exp.Rollup, exp.GroupingSets))]
    parts = [
        *group.expressions,
        *(each for key in ("cube", "rollup", "grouping_sets") for each in group.args.get(key) or ()),
    ]
    sets = _ONE
    for part in parts:
        count = len(part.expressions or keys)
        if isinstance(part, exp.Cube):
            sets *= Decimal(2) ** min(count, 99)
        elif isinstance(part, exp.Rollup):
            sets *= count + 1
        elif isinstance(part, exp.GroupingSets):
            sets *= sum((_sets_of(each) for each in part.expressions), Decimal(0))
    return sets


def _sets_of(part: exp.Expr) -> Decimal:
    if isinstance(part, (exp.Cube, exp.Rollup, exp.GroupingSets)):
        return _grouping_sets(exp.Group(expressions=[part.copy()]))
    return _ONE


def _is_untold(node: exp.Expr, call: str) -> bool:
    """Whether a size is constant, and yet not known here."""
    values = arguments(node)
    if any(isinstance(each, exp.Kwarg) for each in values):
        return True
    return _size(node) is None and all(map(is_constant, _deciding(call, values)))


def _deciding(call: str, values: Sequence[exp.Expr]) -> Sequence[exp.Expr]:
    """The arguments that decide on a size."""
    if call in _STEPS:
        return values[:3]
    if call in _FORMATS:
        return values[:1]
    if call == "window":
        return values[1:3]
    at = {**_COUNTS, **_PLACES}.get(call, 1)
    return values[at : at + 1]


def _advice(node: exp.Expr, call: str) -> str:
    if call in _FORMATS:
        return "the widths in its format come from a row; write the format as one text"
    if call in _STEPS:
        return (
            "its ends come from a row, so it may have any number of elements; bound both, as in"
            " `sequence(1, greatest(1, least(n, 1000)))` or"
            " `sequence(a, least(b, a + interval 30 days), interval 1 day)`"
        )
    if range_of(_deciding(call, arguments(node))[0]).most.is_finite():
        return f"it makes as much as a row holds, as often as a row holds something; {WAY_OUT}"
    return f"its size comes from a row, and may be any; {WAY_OUT}"
