"""Expressions in one canonical form: without case, brackets, or the order of operands that may be swapped."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

from sqlglot import exp

from headrace.errors import Place
from headrace.planning.forms.functions import OF_WHOLE, may_fail

EDITED = "*"
"""Marks a column of a table whose text makes it in another way than it did."""

OF_DOUBLE = "D"
"""What a number ends with that is a double, as Spark reads it."""

_LONG = 300
_SWAPPABLE = (exp.EQ, exp.NEQ, exp.NullSafeEQ, exp.Add, exp.Mul)
_MIRRORED = {"GT": "LT", "GTE": "LTE"}
WINDOWS = ("window", "session_window")
_SECONDS = {
    **{"microsecond": 1e-6, "millisecond": 1e-3, "second": 1, "minute": 60, "hour": 3600},
    **{"day": 86400, "week": 7 * 86400},
}


_OF_ALL_BELOW = ("atoms", "key", "makes")
"""Notes on a node that are about the nodes below it too, as they were at the time."""


@dataclass(frozen=True)
class Atom:
    """A column that no expression makes: of a table, or made by a step such as an aggregation.

    `kind` is `column`, `key`, `aggregate`, `window`, `generated`, `side`, `outer`, `union` or `query`; `made_of`
    are the expressions of a step's column, `edited` the members of a struct that mean something else than they did.
    """

    kind: str
    name: str
    table: str = ""
    column: str = ""
    made_of: tuple[exp.Expr, ...] = field(default=(), compare=False, repr=False)
    edited: frozenset[str] = frozenset()

    @property
    def is_edited(self) -> bool:
        """Whether the table's text makes this column in another way than it did."""
        return self.name.endswith(EDITED)

    def member(self, name: str) -> Atom:
        """A field of this column."""
        is_edited = f"{self.column}.{name}" in self.edited
        renamed = f"{self.name.removesuffix(EDITED)}.{name}{EDITED if is_edited else ''}"
        return replace(self, name=renamed, column=f"{self.column}.{name}")

    def __deepcopy__(self, memo: object) -> Atom:
        return self  # it never changes, and a copy of an expression must not copy all that is below it


@dataclass(frozen=True)
class Term:
    """One expression; two with the same key mean the same, `sql` is for people."""

    key: str
    tree: exp.Expr = field(compare=False, repr=False)

    @property
    def sql(self) -> str:
        """As SQL over the columns of tables."""
        return sql(self.tree)

    @property
    def atoms(self) -> frozenset[Atom]:
        """The columns that it names."""
        return atoms(self.tree)

    @property
    def columns(self) -> frozenset[Atom]:
        """The columns of tables that it is ultimately derived from."""
        return frozenset(atom for atom in deep(self.tree) if atom.kind == "column")

    def place(self) -> Place | None:
        """Where it is written."""
        return next((node.meta["place"] for node in every(self.tree) if "place" in node.meta), None)


def guarded(conditions: Iterable[exp.Expr], before: Iterable[Term] = ()) -> list[Term]:
    """Conditions as terms; one that may fail means something else where others are asked before it."""
    found = {each.key: each for each in before}
    for each in conditions:
        made = term(each)
        if may_fail(each):
            made = replace(made, key=short(f"{made.key} after {sorted(found)}"))
        found.setdefault(made.key, made)
    return [*found.values()]


def term(tree: exp.Expr) -> Term:
    """The canonical form of an expression whose columns are resolved."""
    return Term(key(tree), tree)


def column(found: Atom, place: Place | None = None) -> exp.Column:
    """A resolved column as part of an expression."""
    made = exp.Column(this=exp.Identifier(this=found.name, quoted=False))
    made.meta["atom"] = found
    if place is not None:
        made.meta["place"] = place
    return made


def atoms(tree: exp.Expr) -> frozenset[Atom]:
    """The resolved columns that an expression names."""
    if "atom" in tree.meta:
        return frozenset((tree.meta["atom"],))
    if "atoms" not in tree.meta:
        tree.meta["atoms"] = frozenset(chain.from_iterable(map(atoms, tree.iter_expressions())))
    return tree.meta["atoms"]  # type: ignore[no-any-return]


def in_order(trees: Iterable[exp.Expr]) -> list[Atom]:
    """The resolved columns of expressions as they are written, each followed by those that it is derived from."""
    found: dict[str, Atom] = {}

    def visit(tree: exp.Expr) -> None:
        for node in tree.dfs():
            if "atom" in node.meta and node.meta["atom"].name not in found:
                found[node.meta["atom"].name] = node.meta["atom"]
                for each in node.meta["atom"].made_of:
                    visit(each)

    for tree in trees:
        visit(tree)
    return [*found.values()]


def deep(*trees: exp.Expr) -> frozenset[Atom]:
    """The resolved columns of expressions, and those that these are derived from in turn."""
    found: dict[str, Atom] = {}
    waiting = [*trees]
    while waiting:
        for each in atoms(waiting.pop()):
            if each.name not in found:
                found[each.name] = each
                waiting.extend(each.made_of)
    return frozenset(found.values())


def outside_queries(tree: exp.Expr) -> frozenset[Atom]:
    """As `deep`, without what is only asked for inside a subquery."""
    found: dict[str, Atom] = {}
    waiting = [tree]
    while waiting:
        for each in atoms(waiting.pop()):
            if each.name not in found and each.kind != "query":
                found[each.name] = each
                waiting.extend(each.made_of)
    return frozenset(found.values())


def every(tree: exp.Expr) -> Iterator[exp.Expr]:
    """Every node of an expression and of what its columns are derived from."""
    seen: set[str] = set()
    waiting = [tree]
    while waiting:
        for node in waiting.pop().walk():
            yield node
            if "atom" in node.meta and node.meta["atom"].name not in seen:
                seen.add(node.meta["atom"].name)
                waiting.extend(node.meta["atom"].made_of)


def sql(tree: exp.Expr) -> str:
    """An expression as SQL for people: columns are what they are derived from; only written casts are shown."""
    return _Texts().of(tree)


class _Texts:
    """Texts of expressions. Large ones are derived from the same columns many times, so a column is written once."""

    def __init__(self) -> None:
        self._known: dict[int, str] = {}

    def of(self, tree: exp.Expr) -> str:
        """The text of an expression; of a very long one, its start and its hash."""
        node = tree.unnest()
        if "text" in node.meta:
            return short(str(node.meta["text"]))
        if "implied" in node.meta:
            return self.of(node.this)
        if "atom" in node.meta:
            return self._of_atom(node.meta["atom"])
        shown = node.transform(self._shown)
        return short(shown.sql(dialect="databricks", comments=False, normalize_functions="lower", copy=False))

    def _shown(self, node: exp.Expr) -> exp.Expr:
        if "text" in node.meta:
            return exp.Var(this=node.meta["text"])
        if "implied" in node.meta:
            inner: exp.Expr = node.this
            return inner.transform(self._shown, copy=False)
        if "atom" not in node.meta:
            return node
        atom, text = node.meta["atom"], self._of_atom(node.meta["atom"])
        return exp.Var(this=f"({text})" if len(atom.made_of) == 1 else text)

    def _of_atom(self, atom: Atom) -> str:
        if id(atom) not in self._known:
            self._known[id(atom)] = short(" | ".join(map(self.of, atom.made_of)) or _name(atom))
        return self._known[id(atom)]


def _name(atom: Atom) -> str:
    name = re.sub(r"#[0-9]+(?=[.])", "", atom.name.removesuffix(EDITED))
    return f"{name} (edited)" if atom.is_edited else name


def short(text: str) -> str:
    """A text itself or, if it is very long, its start and its hash."""
    return text if len(text) <= _LONG else f"{text[:60]}…{hashlib.sha256(text.encode()).hexdigest()[:16]}"


OF_TRUTHS = "of_truths"
"""Marks a connector whose operands surely are truth values: a text would be read as one."""


def notes(node: exp.Expr) -> dict[str, Any]:
    """What is noted of a node and holds for a copy of it whose parts are others."""
    return {name: note for name, note in node.meta.items() if name not in _OF_ALL_BELOW}


def key(node: exp.Expr) -> str:
    """The structure of a resolved expression as text; it is noted, as what is below a node never changes."""
    node = node.unnest()
    if "atom" in node.meta:
        return f"[{node.meta['atom'].name}]"
    if "key" not in node.meta:
        node.meta["key"] = _key(node)
    return str(node.meta["key"])


def _key(node: exp.Expr) -> str:
    if node.meta.get("no_change"):
        return key(node.this)
    if isinstance(node, (exp.And, exp.Or)):
        return _connected(node)
    if isinstance(node, exp.Interval):
        return f"Interval({node.meta.get('length') or _interval(node)})"
    if isinstance(node, exp.Dot) and isinstance(node.expression, exp.Identifier):
        return f"Dot({key(node.this)}, {node.expression.name})"  # perhaps an entry of a map, whose case counts
    if isinstance(node, exp.Literal):
        return repr(node.name) if node.is_string else f"{node.name}"
    if isinstance(node, (exp.Identifier, exp.Var)):
        return node.name.lower()
    if isinstance(node, exp.Anonymous):
        return _call(node)
    if isinstance(node, (exp.Alias, exp.PropertyEQ)):
        return f"{key(node.this) if isinstance(node, exp.Alias) else node.this.name} = {_value(node.args, node)}"
    if isinstance(node, exp.ColumnDef):
        return f"{node.name}:{_one(node.args.get('kind'))}"  # a field of a struct, and JSON shows its case
    return _plain(node)


def seconds(text: str) -> str:
    """`1 minute` and `60 seconds` alike; what is no plain duration stays as it is."""
    found = _length(text)
    return f"{found.seconds} seconds" if found else text


@dataclass(frozen=True)
class Length:
    """How long a duration is, and the units in which it is written, which decide its type."""

    seconds: str
    units: frozenset[str]


def length(interval: exp.Interval) -> Length | None:
    """How long an interval is; None if it is of months, or no plain one."""
    unit = interval.args.get("unit")
    if not isinstance(interval.this, exp.Literal) or not (unit is None or isinstance(unit, exp.Var)):
        return None
    return _length(f"{interval.this.name} {unit.name if unit is not None else ''}")


def _length(text: str) -> Length | None:
    words = text.strip().lower().removeprefix("interval").split()
    numbers, units = words[::2], [word.removesuffix("s") for word in words[1::2]]
    plain = all(re.fullmatch(r"\d+(\.\d+)?", number) for number in numbers) and set(units) <= _SECONDS.keys()
    if not words or not plain or len(numbers) != len(units):
        return None
    total = sum(float(number) * _SECONDS[unit] for number, unit in zip(numbers, units, strict=True))
    return Length(f"{total:.6f}", frozenset("day" if each == "week" else each for each in units))


def _plain(node: exp.Expr) -> str:
    name = type(node).__name__
    args = {part: value for part, value in node.args.items() if value not in (None, False, [])}
    swaps = _may_be_swapped(node)
    if node.meta.get(OF_WHOLE):
        name, args = _beyond(node)
    if name in _MIRRORED and swaps:
        name, args = _MIRRORED[name], {"this": args["expression"], "expression": args["this"]}
    if isinstance(node, exp.In) and all(isinstance(each, (exp.Literal, exp.Null)) for each in node.expressions):
        args["expressions"] = sorted(node.expressions, key=key)
    parts = [f"{part}={_one(value)}" for part, value in args.items()]
    if isinstance(node, _SWAPPABLE) and swaps:
        parts = sorted(_one(value) for value in args.values())
    return f"{name}({', '.join(parts)})"


def _beyond(node: exp.Expr) -> tuple[str, dict[str, exp.Expr]]:
    """`a >= 1` as `a > 0`, and `a <= 1` as `a < 2`, of whole numbers; `a >= 0` stays, as there is no literal `-1`."""
    is_greater, is_turned = isinstance(node, exp.GTE), isinstance(node.this.unnest(), exp.Literal)
    number = int((node.this if is_turned else node.expression).unnest().name) + (1 if is_turned == is_greater else -1)
    if not 0 <= number < 2**31:
        return type(node).__name__, dict(node.args)
    near = exp.Literal.number(number)
    sides = (near, node.expression) if is_turned else (node.this, near)
    return ("GT" if is_greater else "LT"), dict(zip(("this", "expression"), sides, strict=True))


def _may_be_swapped(node: exp.Expr) -> bool:
    """Whether both sides are always asked: Spark asks the second only if the first is not null.

    A sum that is too large counts for nothing here: it would have to stand next to a null.
    """
    sides = [each.unnest() for each in node.iter_expressions()]
    never_null = isinstance(node, exp.NullSafeEQ) or any(isinstance(each, exp.Literal) for each in sides)
    return never_null or not any(may_fail(each, with_overflow=False) for each in sides)


def _one(value: Any) -> str:
    if isinstance(value, exp.Expr):
        return key(value)
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_one, value))}]"
    return repr(value)


def _value(args: dict[str, Any], node: exp.Expr) -> str:
    """An alias inside an expression names a field, and its case is preserved."""
    return args["alias"].name if isinstance(node, exp.Alias) and args.get("alias") else _one(args.get("expression"))


def _call(node: exp.Anonymous) -> str:
    name, arguments = node.name.lower(), [key(each) for each in node.expressions]
    if name in WINDOWS:
        arguments = [
            repr(_gap(each.name, name)) if isinstance(each, exp.Literal) and each.is_string else argument
            for each, argument in zip(node.expressions, arguments, strict=True)
        ]
    return f"{name}({', '.join(arguments)})"


def _gap(text: str, function: str) -> str:
    """A length of windows; the days of a session's gap are those of the time zone, not always of 24 hours."""
    found = _length(text)
    has_days = found is not None and "day" in found.units and function == "session_window"
    return f"{seconds(text)} with days" if has_days else seconds(text)


def _interval(node: exp.Interval) -> str:
    found = length(node)
    return f"{found.seconds} {sorted(found.units)}" if found else f"{_one(node.this)} {_one(node.args.get('unit'))}"


def _connected(node: exp.Expr) -> str:
    """AND or OR with its operands; one that may fail is asked only where those before it do not decide.

    `a and true` is `a`, and so is `a or false`, if `a` is surely a truth value.
    """
    operands = [*_operands(node, type(node))]
    neutral = key(exp.Boolean(this=isinstance(node, exp.And)))
    keys = [each for each in dict.fromkeys(map(key, operands)) if each != neutral] or [neutral]
    if len(keys) == 1 and all(each.meta.get(OF_TRUTHS) for each in _connectors(node, type(node))):
        return keys[0]
    return f"{type(node).__name__}({', '.join(keys if any(map(may_fail, operands)) else sorted(keys))})"


def _connectors(node: exp.Expr, kind: type[exp.Expr]) -> Iterator[exp.Expr]:
    """A node of AND or OR, and those of the same kind that are its operands."""
    node = node.unnest()
    if isinstance(node, kind):
        yield node
        yield from _connectors(node.args["this"], kind)
        yield from _connectors(node.args["expression"], kind)


def _operands(node: exp.Expr, kind: type[exp.Expr]) -> Iterator[exp.Expr]:
    node = node.unnest()
    if isinstance(node, kind):
        yield from _operands(node.args["this"], kind)
        yield from _operands(node.args["expression"], kind)
    else:
        yield node
