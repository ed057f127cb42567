"""How often a value contains each part of what is known, such as a column or what a fold carries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal

from sqlglot import exp

from headrace.project.sql.guard.bounds import HOLDINGS, range_of
from headrace.project.sql.guard.forms import arguments, name_of
from headrace.project.sql.guard.growth import lengths
from headrace.project.sql.guard.growth.lengths import FOLDS

_JUDGES = (exp.Predicate, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod, exp.Neg)
_PICKS = frozenset({"element_at", "get", "try_element_at"})
_MOST = 10**30
COLUMN = "."
"""The prefix of columns among the names of the variables of lambdas."""

_ELEMENT, _KEY = "[]", "[key]"
_ONE = exp.Literal.number(1)

Path = tuple[str, ...]
Parts = Counter[Path]
"""How often a value contains a part, by the path to it."""


def copies(value: exp.Expr, longer: frozenset[str] = frozenset()) -> int:
    """How often a value holds one of the columns that it is made of; at least once."""
    names = {column.name.lower() for column in value.find_all(exp.Column)}
    scope = Scope(columns_of(names), longer)
    scope.parts(value.unalias())
    return max(scope.peaks)


def columns_of(names: Iterable[str]) -> dict[str, Parts]:
    """What columns stand for that are made of nothing else: each holds itself once."""
    return {COLUMN + name: Counter[Path]([(name,)]) for name in names}


@dataclass
class Scope:
    """What names stand for, the functions that write what they are given longer, and the largest counts so far."""

    known: dict[str, Parts]
    longer: frozenset[str] = frozenset()
    peaks: list[int] = field(default_factory=lambda: [1])

    def parts(self, node: exp.Expr) -> Parts:
        """How often a value contains each part of what is known."""
        found = self._parts(node)
        self.peaks[0] = max(self.peaks[0], peak(found))
        return found

    def _parts(self, node: exp.Expr) -> Parts:
        name, values = name_of(node), arguments(node)
        if isinstance(node, _JUDGES) or lengths.is_short(name, values):
            for value in values:
                self.parts(value)
            return Counter()
        match node:
            case exp.Dot():
                return _inside(self.parts(node.this), node.expression.name.lower())
            case exp.Identifier():
                return self.known.get(node.name.lower(), Counter())
            case exp.Column():
                return self._of_column([part.name.lower() for part in node.parts])
            case exp.If():
                self.parts(node.this)
                return _most(self.parts(node.args[each]) for each in ("true", "false") if node.args.get(each))
            case exp.PropertyEQ():
                return self.parts(node.expression)
            case exp.Bracket():
                return self._piece(node.this)
            case exp.Select():
                return _most([self.parts(each.unalias()) for each in node.expressions])
        return self._of_call(name, values)

    def _piece(self, whole: exp.Expr) -> Parts:
        """An element of an array; one of a text that was split is no longer than the text."""
        is_split = name_of(whole) in ("split", "regexp_extract_all")
        return _inside(self.parts(arguments(whole)[0] if is_split else whole), _ELEMENT)

    def _of_column(self, names: list[str]) -> Parts:
        """A variable that is written in other letters than in its lambda looks like a column."""
        if names[0] not in self.known:
            return self.known.get(COLUMN + names[-1], Counter())
        return Counter({(*path, *names[1:]): count for path, count in self.known[names[0]].items()})

    def _of_call(self, name: str | None, values: list[exp.Expr]) -> Parts:
        if name in _PICKS or (name == "slice" and values[2:] == [_ONE]):
            return self._piece(values[0])
        if any(isinstance(each, exp.Lambda) for each in values):
            return self._of_lambdas(name, values)
        found = [self.parts(each) for each in values]
        parts = _sum(found) if name in lengths.TOGETHER or name in self.longer else _most(found)
        if (at := lengths.SIZED.get(name or "", len(values))) < len(values):
            parts = _most([parts, self._of_size(values[at])])
        times = 2 if name in self.longer else self._times(name, values)
        return Counter({path: min(times * count, _MOST) for path, count in parts.items()})

    def _of_size(self, size: exp.Expr) -> Parts:
        """What a size tells of what is known, as `2 * length(a)` does."""
        held = (self.parts(arguments(each)[0]) for each in size.walk() if name_of(each) in HOLDINGS)
        times = int(min(range_of(size).above, Decimal(_MOST)))
        return Counter({path: times for path in _most(held)}) if times > 1 else Counter()

    def _times(self, name: str | None, values: list[exp.Expr]) -> int:
        if name == "concat_ws":
            return lengths.times_by_separator(values[0]) if any(map(self._may_be_list, values[1:])) else 1
        return lengths.times(name or "", values)

    def _may_be_list(self, value: exp.Expr) -> bool:
        if isinstance(value, exp.Column):
            return value.parts[0].name.lower() not in self.known
        return name_of(value) in ("split", "transform", "regexp_extract_all", "sentences", "flatten", "sequence")

    def _of_lambdas(self, name: str | None, values: list[exp.Expr]) -> Parts:
        """The variables of a lambda stand for the elements of what it goes over; in a fold, the first for its start.

        What else stands in it is there once for each element.
        """
        whole = [self.parts(each) for each in values if not isinstance(each, exp.Lambda)]
        if name in ("filter", "exists", "forall", "array_sort", "map_filter"):
            for each in (value for value in values if isinstance(value, exp.Lambda)):
                self._of_lambda(each, [Counter(), Counter()], 1)
            return whole[0]
        found, times = list[Parts](), lengths.elements(values[0])
        for each in (value for value in values[1:] if isinstance(value, exp.Lambda)):
            is_finish = name in FOLDS and bool(found)
            variables = [found[-1]] if is_finish else _variables(name, whole)
            found.append(self._of_lambda(each, variables, 1 if is_finish else times))
        return _most([found[-1], *whole[1:]]) if name in FOLDS else _most(found)

    def _of_lambda(self, node: exp.Lambda, variables: list[Parts], times: int) -> Parts:
        names = [variable.name.lower() for variable in node.expressions]
        marks = {name: f"\\{len(self.known)} {name}" for name in names}
        known = {**self.known, **{name: Counter[Path]([(mark,)]) for name, mark in marks.items()}}
        meant = {mark: Counter[Path]() for mark in marks.values()} | dict(zip(marks.values(), variables, strict=False))
        total: Parts = Counter()
        for path, count in Scope(known, self.longer, self.peaks).parts(node.this).items():
            if path[:1] and path[0] in meant:
                total.update({(*of, *path[1:]): count * each for of, each in meant[path[0]].items()})
            else:
                total[path] += count * times
        return total


def _variables(name: str | None, whole: list[Parts]) -> list[Parts]:
    """What the variables of a lambda stand for."""
    first, second = _inside(whole[0], _ELEMENT), _inside(whole[-1], _ELEMENT)
    key = _inside(whole[0], _KEY)
    if name in FOLDS:
        return [whole[-1], first]
    return {
        "zip_with": [first, second],
        "map_zip_with": [key, first, second],
        "transform_keys": [key, first],
        "transform_values": [key, first],
    }.get(name or "", [first])


def peak(parts: Parts) -> int:
    """How often the part is there that is there most: by itself, and in the parts that hold it."""
    counts = (sum(parts.get(path[:end], 0) for end in range(len(path) + 1)) for path in parts)
    return min(max(counts, default=1), _MOST)


def _inside(parts: Parts, field: str) -> Parts:
    return Counter({(*path, field): count for path, count in parts.items()})


def _sum(found: Iterable[Parts]) -> Parts:
    total: Parts = Counter()
    for each in found:
        total.update(each)
    return total


def _most(found: Iterable[Parts]) -> Parts:
    total: Parts = Counter()
    for each in found:
        total |= each
    return total
