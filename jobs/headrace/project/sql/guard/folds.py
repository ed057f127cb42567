"""Folds and recursion that double what they carry: a hundred doublings make more than any memory holds.

What `aggregate` carries from one element to the next may grow by what the element adds. Where a step puts the same part
of it in twice, or writes it longer (`hex`, `replace`), it grows by a factor. This is judged by what stands in the step,
as far as that shows it: a fold that splits what it carries and puts the pieces together is not seen through.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from sqlglot import exp

from headrace.project.sql.guard.bounds import HOLDINGS
from headrace.project.sql.guard.builtins import words
from headrace.project.sql.guard.forms import arguments, is_constant, name_of, offset

FOLDS = frozenset({"aggregate", "reduce"})
"""Functions that carry a value from one element to the next."""

_TOGETHER = words(
    "array array_append array_insert array_prepend concat concat_ws map map_concat map_from_arrays named_struct struct"
)
"""Functions whose results hold all of their arguments."""

_LONGER = words(
    "array_repeat base64 format_string hex printf quote regexp_replace repeat replace to_csv to_json to_xml url_encode"
)
"""Functions whose results may be longer than their arguments by a factor."""

_SHORT = words("crc32 date_format hash left md5 right sha sha1 sha2 substr substring xxhash64") | HOLDINGS
"""Functions whose results do not grow with what they are given; of a text, only a piece of constant length."""

_JUDGES = (exp.Predicate, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod, exp.Neg)
_COLUMN = "."
"""What stands before the names of columns among those of the variables of lambdas."""

_ELEMENT = "[]"
_ONE = exp.Literal.number(1)
_Path = tuple[str, ...]
_Parts = Counter[_Path]
"""How often which part of what is carried stands in a value, by the path to it."""

MESSAGE = "what is carried on doubles in each step; put it in once"


def faults(tree: exp.Expr, longer: Collection[str] = ()) -> Iterator[tuple[int, str]]:
    """Find what grows by a factor in each step: offset, and what to do. `longer` are macros that do so themselves."""
    functions = _LONGER.union(longer)
    for node in tree.walk():
        name = name_of(node)
        if name in FOLDS and _grows_in_step(arguments(node), functions):
            yield offset(node), f"`{name}`: {MESSAGE}"
        elif isinstance(node, exp.With) and node.args.get("recursive"):
            grown = (cte for cte in node.expressions if any(copies([each], functions) > 1 for each in _made(cte)))
            yield from ((offset(cte), f"`{cte.alias}`: {MESSAGE}") for cte in grown)


def copies(values: Iterable[exp.Expr], longer: frozenset[str] = frozenset()) -> int:
    """How often one of some values holds one of the columns that they are made of; at least once.

    What has a name stands for what it is made of in the values after it.
    """
    columns = {column.name.lower() for value in values for column in value.find_all(exp.Column)}
    known: dict[str, _Parts] = {_COLUMN + name: Counter([(name,)]) for name in columns}
    most = 1
    for value in values:
        parts = _Scope(known, longer).parts(value.unalias())
        known |= {_COLUMN + value.alias.lower(): parts} if value.alias else {}
        most = max(most, *parts.values(), 1)
    return most


def _grows_in_step(values: list[exp.Expr], longer: frozenset[str]) -> bool:
    step = values[2] if len(values) > 2 else None
    if not isinstance(step, exp.Lambda) or len(step.expressions) != 2:
        return False
    carried = step.expressions[0].name.lower()
    parts = _Scope({carried: Counter([()])}, longer).parts(step.this)
    return any(count > 1 for count in parts.values())


def _made(cte: exp.CTE) -> Iterator[exp.Expr]:
    for select in cte.this.find_all(exp.Select):
        yield from select.expressions


@dataclass(frozen=True)
class _Scope:
    """What names stand for, and the functions that write what they are given longer by a factor."""

    known: Mapping[str, _Parts]
    longer: frozenset[str]

    def parts(self, node: exp.Expr) -> _Parts:
        """How often which part of what is known stands in a value."""
        name, values = name_of(node), arguments(node)
        if isinstance(node, _JUDGES) or (name in _SHORT and all(map(is_constant, values[1:]))):
            return Counter()
        match node:
            case exp.Dot():
                return _inside(self.parts(node.this), node.expression.name.lower())
            case exp.Identifier():
                return self.known.get(node.name.lower(), Counter())
            case exp.Column():
                return self._of_column([part.name.lower() for part in node.parts])
            case exp.If():
                return _most(self.parts(node.args[each]) for each in ("true", "false") if node.args.get(each))
            case exp.PropertyEQ():
                return self.parts(node.expression)
            case exp.Bracket():
                return _inside(self.parts(node.this), _ELEMENT)
        return self._of_call(name, values)

    def _of_column(self, names: list[str]) -> _Parts:
        """A variable that is written in other letters than in its lambda looks like a column."""
        if names[0] not in self.known:
            return self.known.get(_COLUMN + names[-1], Counter())
        return Counter({(*path, *names[1:]): count for path, count in self.known[names[0]].items()})

    def _of_call(self, name: str | None, values: list[exp.Expr]) -> _Parts:
        if any(isinstance(each, exp.Lambda) for each in values):
            return self._of_lambdas(name, values)
        found = [self.parts(each) for each in values]
        if name in ("element_at", "get", "try_element_at") or (name == "slice" and values[2:] == [_ONE]):
            return _inside(found[0], _ELEMENT)
        if name in self.longer:
            return Counter({path: 2 * count for path, count in _sum(found).items()})
        return _sum(found) if name in _TOGETHER else _most(found)

    def _of_lambdas(self, name: str | None, values: list[exp.Expr]) -> _Parts:
        """The variables of a lambda stand for the elements of what it goes over; in a fold, the first for its start."""
        first, found = self.parts(values[0]), list[_Parts]()
        if name in ("filter", "exists", "forall", "array_sort"):
            return first
        element = _inside(first, _ELEMENT)
        start = self.parts(values[1]) if name in FOLDS else element
        for each in (value for value in values[1:] if isinstance(value, exp.Lambda)):
            names = [variable.name.lower() for variable in each.expressions]
            known = {**self.known, **dict(zip(names, (start, element, element), strict=False))}
            found.append(_Scope(known, self.longer).parts(each.this))
        return _most([*found, start])


def _inside(parts: _Parts, field: str) -> _Parts:
    return Counter({(*path, field): count for path, count in parts.items()})


def _sum(found: Iterable[_Parts]) -> _Parts:
    total: _Parts = Counter()
    for each in found:
        total.update(each)
    return total


def _most(found: Iterable[_Parts]) -> _Parts:
    total: _Parts = Counter()
    for each in found:
        total |= each
    return total
