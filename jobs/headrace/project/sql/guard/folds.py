"""Growth: values that hold what they are made of again and again, and folds and recursion that double what they carry.

A hundred doublings make more than any memory holds. What `aggregate` carries from one element to the next may grow by
what the element adds. Where a step puts the same part of it in twice, or writes it longer (`hex`, `replace`), it grows
by a factor. So does a column of a query that is made of one before it, by an alias, a CTE or a subquery: `growths`
follows each of them. This is judged by what stands in the text, as far as that shows it: how often a letter that is
replaced occurs, and how many elements a row has, is not known.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal

from sqlglot import exp

from headrace.project.sql.guard.bounds import HOLDINGS, range_of
from headrace.project.sql.guard.builtins import words
from headrace.project.sql.guard.forms import arguments, is_constant, name_of, offset, text_of
from headrace.project.sql.guard.regexes import Unclear, read
from headrace.project.sql.guard.runtimes import may_be_empty

FOLDS = frozenset({"aggregate", "reduce"})
"""Functions that carry a value from one element to the next."""

_TOGETHER = words(
    """
    array array_append array_insert array_prepend array_union arrays_zip concat concat_ws format_string map map_concat
    map_from_arrays named_struct overlay printf regexp_replace replace struct
    """
)
"""Functions whose results hold all of their arguments."""

_TIMES: Mapping[str, int] = {
    "base64": 2, "encode": 4, "hex": 2, "quote": 2, "regexp_extract_all": 4, "sentences": 4, "split": 4, "to_char": 2,
    "to_csv": 3, "to_json": 4, "to_varchar": 2, "to_xml": 10, "url_encode": 3,
}  # fmt: skip
"""Functions whose results may be longer than their arguments, and how many times."""

_BY_ARGUMENTS = frozenset({"array_join", "concat_ws", "format_string", "printf", "regexp_replace", "replace"})
"""Those of which their arguments say how many times."""

_AGAIN = frozenset({"array_repeat", "repeat"})
"""Functions that put a value again and again, of which `sizes` judges how often."""

_SIZED: Mapping[str, int] = {"lpad": 1, "repeat": 1, "rpad": 1, "sequence": 1, "space": 0}
"""Functions whose results are as large as one of their arguments says, and which."""

_OVER_ELEMENTS = words("map_zip_with transform transform_keys transform_values zip_with")
NAMES = FOLDS | _TOGETHER | frozenset(_TIMES) | _BY_ARGUMENTS | _OVER_ELEMENTS
"""Functions whose results may grow beyond what they are made of."""

_SHORT = words("crc32 date_format hash md5 sha sha1 sha2 xxhash64") | HOLDINGS
"""Functions whose results do not grow with what they are given."""

_CUT: Mapping[str, int] = {"left": 1, "right": 1, "substr": 2, "substring": 2}
"""Functions that give a piece of a text, and which argument tells how long it is at most."""

_LONGEST_PIECE = 1_000

_JUDGES = (exp.Predicate, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod, exp.Neg)
_PICKS = frozenset({"element_at", "get", "try_element_at"})
_MANY = 10
"""What the elements of an array count as, where nothing says how many there are."""

_MOST = 10**30
_COLUMN = "."
"""What stands before the names of columns among those of the variables of lambdas."""

_ELEMENT, _KEY = "[]", "[key]"
_ONE = exp.Literal.number(1)
_REFERENCE = re.compile(r"\$(?:\d|\{\w+\})")
_PLACE = re.compile(r"%(\d+)\$")
_Path = tuple[str, ...]
_Parts = Counter[_Path]
"""How often which part of what is carried stands in a value, by the path to it."""

MESSAGE = "what is carried on doubles in each step; put it in once"


def faults(tree: exp.Expr, longer: Collection[str] = ()) -> Iterator[tuple[int, str]]:
    """Find what grows by a factor in each step: offset, and what to do. `longer` are macros that do so themselves."""
    functions = _AGAIN.union(longer)
    for node in tree.walk():
        name = name_of(node)
        if name in FOLDS and _grows_in_step(arguments(node), functions):
            yield offset(node), f"`{name}`: {MESSAGE}"
        elif isinstance(node, exp.With) and node.args.get("recursive"):
            grown = (cte for cte in node.expressions if any(_copies(each, functions) > 1 for each in _made(cte)))
            yield from ((offset(cte), f"`{cte.alias}`: {MESSAGE}") for cte in grown)


def growths(tree: exp.Expr) -> list[tuple[exp.Expr, int]]:
    """The selects of a query, inner ones first, or what a macro returns, and how often it holds one of its columns."""
    if isinstance(tree, exp.Create):
        return [(each, _copies(each.this)) for each in tree.find_all(exp.Return)]
    queries = _Queries()
    queries.columns(tree, {}, {})
    return queries.found


def _copies(value: exp.Expr, longer: frozenset[str] = frozenset()) -> int:
    """How often a value holds one of the columns that it is made of; at least once."""
    names = {column.name.lower() for column in value.find_all(exp.Column)}
    scope = _Scope(_columns(names), longer)
    scope.parts(value.unalias())
    return max(scope.peaks)


def _columns(names: Iterable[str]) -> dict[str, _Parts]:
    return {_COLUMN + name: Counter[_Path]([(name,)]) for name in names}


def _grows_in_step(values: list[exp.Expr], longer: frozenset[str]) -> bool:
    step = values[2] if len(values) > 2 else None
    if not isinstance(step, exp.Lambda) or len(step.expressions) != 2:
        return False
    carried = step.expressions[0].name.lower()
    parts = _Scope({carried: Counter([()])}, longer).parts(step.this)
    return any(count > 1 for count in parts.values())  # a whole and one of its elements is no doubling of either


def _made(cte: exp.CTE) -> Iterator[exp.Expr]:
    for select in cte.this.find_all(exp.Select):
        yield from select.expressions


_Columns = Mapping[str, int]
"""How often a column holds one of those of stored tables, by its name."""


class _Queries:
    """The selects of a query, each with how often it holds one of the columns of stored tables."""

    def __init__(self) -> None:
        self.found: list[tuple[exp.Expr, int]] = []

    def columns(self, query: exp.Expr, ctes: Mapping[str, _Columns], outer: Mapping[str, _Parts]) -> _Columns:
        """What comes out of a query; `outer` are the columns that stand around it."""
        with_ = query.args.get("with_")
        for cte in with_.expressions if with_ is not None else ():
            ctes = {**ctes, cte.alias.lower(): _named(self.columns(cte.this, ctes, outer), cte)}
        match query:
            case exp.Select():
                return self._of_select(query, ctes, outer)
            case exp.SetOperation():
                return _united(self.columns(query.left, ctes, outer), self.columns(query.right, ctes, outer))
            case exp.Subquery() | exp.Table() if isinstance(query.this, exp.Query):
                return _named(self.columns(query.this, ctes, outer), query)
            case exp.Table():
                return _named(ctes.get(query.name.lower(), {}) if not query.db else {}, query)
        return {}

    def _of_select(self, select: exp.Select, ctes: Mapping[str, _Columns], outer: Mapping[str, _Parts]) -> _Columns:
        names = {column.name.lower() for column in select.find_all(exp.Column)}
        scope = _Scope({**_columns(names), **outer})
        read = dict[str, int]()
        joins = [select.args.get("from_"), *(select.args.get("joins") or ()), *(select.args.get("laterals") or ())]
        for join in filter(None, joins):
            read |= self._of_source(join, ctes, scope)
            scope.known |= {_COLUMN + name: Counter({(name,): count}) for name, count in read.items()}
        made = dict[str, int]()
        for value in select.expressions:
            if value.is_star:
                made |= read
            parts = scope.parts(value.unalias())
            made[value.alias_or_name.lower()] = _peak(parts)
            scope.known |= {_COLUMN + value.alias.lower(): parts} if value.alias else {}
        for key in ("where", "group", "having", "qualify", "order", "sort", "cluster", "distribute"):
            scope.parts(select.args[key]) if select.args.get(key) else None
        self.found.append((select, max(scope.peaks)))
        return made

    def _of_source(self, part: exp.Expr, ctes: Mapping[str, _Columns], scope: _Scope) -> _Columns:
        source = part.this if isinstance(part, (exp.From, exp.Join)) else part
        if part.args.get("on"):
            scope.parts(part.args["on"])
        if isinstance(source, exp.Lateral) and isinstance(source.this, exp.Query):
            return _named(self.columns(source.this, ctes, scope.known), source)
        if isinstance(source, exp.Lateral):
            count = _peak(scope.parts(source.this))
            return {name: count for name in _names(source)}
        return self.columns(source, ctes, {})


def _names(node: exp.Expr) -> list[str]:
    alias = node.args.get("alias")
    return [each.name.lower() for each in alias.args.get("columns") or ()] if isinstance(alias, exp.TableAlias) else []


def _named(columns: _Columns, node: exp.Expr) -> _Columns:
    """The columns under the names that an alias lists; each counts as all where it is not known which is which."""
    if not (names := _names(node)):
        return columns
    counts = [*columns.values()] if len(columns) == len(names) else [max(columns.values(), default=1)] * len(names)
    return dict(zip(names, counts, strict=True))


def _united(one: _Columns, other: _Columns) -> _Columns:
    if len(one) != len(other):
        return dict.fromkeys((*one, *other), max((*one.values(), *other.values()), default=1))
    return {name: max(count, more) for (name, count), more in zip(one.items(), other.values(), strict=True)}


@dataclass
class _Scope:
    """What names stand for, the functions that write what they are given longer, and the largest counts so far."""

    known: dict[str, _Parts]
    longer: frozenset[str] = frozenset()
    peaks: list[int] = field(default_factory=lambda: [1])

    def parts(self, node: exp.Expr) -> _Parts:
        """How often which part of what is known stands in a value."""
        found = self._parts(node)
        self.peaks[0] = max(self.peaks[0], _peak(found))
        return found

    def _parts(self, node: exp.Expr) -> _Parts:
        name, values = name_of(node), arguments(node)
        if isinstance(node, _JUDGES) or _is_short(name, values):
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

    def _piece(self, whole: exp.Expr) -> _Parts:
        """An element of an array; one of a text that was split is no longer than the text."""
        is_split = name_of(whole) in ("split", "regexp_extract_all")
        return _inside(self.parts(arguments(whole)[0] if is_split else whole), _ELEMENT)

    def _of_column(self, names: list[str]) -> _Parts:
        """A variable that is written in other letters than in its lambda looks like a column."""
        if names[0] not in self.known:
            return self.known.get(_COLUMN + names[-1], Counter())
        return Counter({(*path, *names[1:]): count for path, count in self.known[names[0]].items()})

    def _of_call(self, name: str | None, values: list[exp.Expr]) -> _Parts:
        if name in _PICKS or (name == "slice" and values[2:] == [_ONE]):
            return self._piece(values[0])
        if any(isinstance(each, exp.Lambda) for each in values):
            return self._of_lambdas(name, values)
        found = [self.parts(each) for each in values]
        parts = _sum(found) if name in _TOGETHER or name in self.longer else _most(found)
        if (at := _SIZED.get(name or "", len(values))) < len(values):
            parts = _most([parts, self._of_size(values[at])])
        times = 2 if name in self.longer else self._times(name, values)
        return Counter({path: min(times * count, _MOST) for path, count in parts.items()})

    def _of_size(self, size: exp.Expr) -> _Parts:
        """What a size tells of what is known, as `2 * length(a)` does."""
        held = (self.parts(arguments(each)[0]) for each in size.walk() if name_of(each) in HOLDINGS)
        times = int(min(range_of(size).above, Decimal(_MOST)))
        return Counter({path: times for path in _most(held)}) if times > 1 else Counter()

    def _times(self, name: str | None, values: list[exp.Expr]) -> int:
        if name == "concat_ws":
            return _long(values[0]) if any(map(self._may_be_list, values[1:])) else 1
        return _times(name or "", values)

    def _may_be_list(self, value: exp.Expr) -> bool:
        if isinstance(value, exp.Column):
            return value.parts[0].name.lower() not in self.known
        return name_of(value) in ("split", "transform", "regexp_extract_all", "sentences", "flatten", "sequence")

    def _of_lambdas(self, name: str | None, values: list[exp.Expr]) -> _Parts:
        """The variables of a lambda stand for the elements of what it goes over; in a fold, the first for its start.

        What else stands in it is there once for each element.
        """
        whole = [self.parts(each) for each in values if not isinstance(each, exp.Lambda)]
        if name in ("filter", "exists", "forall", "array_sort", "map_filter"):
            for each in (value for value in values if isinstance(value, exp.Lambda)):
                self._of_lambda(each, [Counter(), Counter()], 1)
            return whole[0]
        found, times = list[_Parts](), _elements(values[0])
        for each in (value for value in values[1:] if isinstance(value, exp.Lambda)):
            is_finish = name in FOLDS and bool(found)
            variables = [found[-1]] if is_finish else _variables(name, whole)
            found.append(self._of_lambda(each, variables, 1 if is_finish else times))
        return _most([found[-1], *whole[1:]]) if name in FOLDS else _most(found)

    def _of_lambda(self, node: exp.Lambda, variables: list[_Parts], times: int) -> _Parts:
        names = [variable.name.lower() for variable in node.expressions]
        marks = {name: f"\\{len(self.known)} {name}" for name in names}
        known = {**self.known, **{name: Counter[_Path]([(mark,)]) for name, mark in marks.items()}}
        meant = {mark: Counter[_Path]() for mark in marks.values()} | dict(zip(marks.values(), variables, strict=False))
        total: _Parts = Counter()
        for path, count in _Scope(known, self.longer, self.peaks).parts(node.this).items():
            if path[:1] and path[0] in meant:
                total.update({(*of, *path[1:]): count * each for of, each in meant[path[0]].items()})
            else:
                total[path] += count * times
        return total


def _variables(name: str | None, whole: list[_Parts]) -> list[_Parts]:
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


def _elements(array: exp.Expr) -> int:
    """How many elements an array has, as far as it is not the business of `sizes`."""
    name = name_of(array)
    if name == "array":
        return max(len(arguments(array)), 1)
    return 2 if name in ("sequence", "array_repeat") else _MANY


def _times(name: str, values: list[exp.Expr]) -> int:
    """How many times longer than its arguments a result may be."""
    if name == "replace":
        return _of_replacement(values[1:])
    if name == "regexp_replace" and len(values) > 2:
        return _of_pattern(*values[1:3])
    if name == "array_join" and len(values) > 1:
        return 1 if name_of(values[0]) == "array" else _long(values[1])
    if name in ("format_string", "printf") and values:
        text = text_of(values[0])
        return 2 if text is None else max(Counter(_PLACE.findall(text)).values(), default=1)
    return _TIMES.get(name, 1)


def _long(separator: exp.Expr) -> int:
    """How many times longer a text becomes by what is put between its elements; `split` has counted a few letters."""
    text = text_of(separator)
    return 2 if text is None else max(-(-len(text) // 4), 1)


def _of_replacement(values: list[exp.Expr]) -> int:
    if len(values) < 2:
        return 1
    old, new = map(text_of, values[:2])
    return 2 if new is None else max(-(-len(new) // max(len(old or ""), 1)), 1)


def _of_pattern(pattern: exp.Expr, replacement: exp.Expr) -> int:
    old, new = text_of(pattern), text_of(replacement)
    if old is None or new is None:
        return 2
    try:
        is_empty = may_be_empty(read(old))
    except Unclear:
        is_empty = True
    references = _REFERENCE.findall(new)
    return max(len(_REFERENCE.sub("", new)) + len(references) + is_empty, 1)


def _is_short(name: str | None, values: list[exp.Expr]) -> bool:
    if (at := _CUT.get(name or "")) is not None:
        return len(values) > at and range_of(values[at]).farthest <= _LONGEST_PIECE
    return name in _SHORT and all(map(is_constant, values[1:]))


def _peak(parts: _Parts) -> int:
    """How often the part is there that is there most: by itself, and in the parts that hold it."""
    counts = (sum(parts.get(path[:end], 0) for end in range(len(path) + 1)) for path in parts)
    return min(max(counts, default=1), _MOST)


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
