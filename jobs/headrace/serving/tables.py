"""Stored tables in pages: rows in a total order, a cursor that says where the next page begins, and a version."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Collection, Container, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from itertools import takewhile
from typing import Any

from sqlglot import exp

from headrace.errors import EnvironmentFault, TornFile, UsageError
from headrace.project.model import Project
from headrace.reading.dialect import parsing
from headrace.reading.dialect.complaints import AT_RUN_TIME, OVER_HTTP, LeftToSpark
from headrace.reading.filtering import filtered
from headrace.reading.rows import BadQuery, Row, Rows, query
from headrace.reading.show import matches
from headrace.reading.stored import Relation, relation
from headrace.store.layout import Layout

DEFAULT_LIMIT = 100
MOST = 1000

_ORDER = "__order_"
_DIGITS = 38
"""How many a decimal of Spark has at most, before or behind its point."""


class BadParameter(Exception):
    """A parameter of the request that cannot be used."""

    def __init__(self, name: str, message: str) -> None:
        self.name = name
        super().__init__(message)


class LeftOut(BadParameter):
    """A condition that may be right, but is not known to mean the same without Spark."""


@dataclass(frozen=True)
class Asked:
    """Which rows of a table are requested."""

    key: str | None = None
    where: str | None = None
    limit: int = DEFAULT_LIMIT
    after: str | None = None


@dataclass(frozen=True)
class Page:
    """Some rows of a table as it was in a version; `after` is the cursor of the next page, None at the end."""

    table: str
    version: str
    rows: list[Row]
    after: str | None


@dataclass(frozen=True)
class _Cursor:
    """The sort key of the last row returned, and how many rows with that key have been returned."""

    values: tuple[Any, ...]
    returned: int


def page(project: Project, layout: Layout, name: str, asked: Asked, known: Collection[str] = ()) -> Page | str:
    """Read a page; only its version if that is among the known ones. UsageError for an unknown table."""
    found = relation(project, layout, name)
    version = _version(found)
    if version in known:
        return version
    conditions = _conditions(found, asked)
    cursor = None if asked.after is None else _decoded(asked.after)
    if not found.written:
        return Page(name, version, [], None)
    try:
        rows, keys = _rows(found, conditions, asked, cursor)
    except TornFile as error:
        raise EnvironmentFault(f"{name} cannot be read now: {error}") from None
    except BadQuery as error:
        raise _fault(found, asked, error) from None
    more = len(rows) > asked.limit
    return Page(name, version, rows[: asked.limit], _next(keys[: asked.limit], cursor) if more else None)


def _version(found: Relation) -> str:
    """Changes with every commit to the tables read, and when one is recreated."""
    tables = [table for _, table in sorted(found.tables.items())]
    ids = hashlib.sha256(" ".join(str(table.metadata().id) for table in tables).encode()).hexdigest()
    return "-".join((ids[:8], *(str(table.version()) for table in tables)))


def _conditions(found: Relation, asked: Asked) -> list[str]:
    conditions = []
    if asked.key is not None and found.written:
        try:
            conditions.append(matches(found, asked.key))
        except UsageError as error:
            raise BadParameter("key", str(error).replace("--where", "where")) from None
    if asked.where is not None:
        try:
            tree = parsing.condition(asked.where)
        except BadQuery as error:
            raise BadParameter("where", str(error).replace("--where", "this")) from None
        if tree.find(exp.Query):
            raise BadParameter("where", "a condition on this table's own columns is wanted, without a SELECT")
    return conditions


def _rows(
    found: Relation, conditions: list[str], asked: Asked, cursor: _Cursor | None
) -> tuple[list[Row], list[tuple[Any, ...]]]:
    """The rows of a page and one more, and what each is sorted by."""
    order = _order(found)
    columns = ", ".join(f"{expression} as {_ORDER}{at}" for at, expression in enumerate(order))
    conditions = [*conditions, *([] if cursor is None else [_from(order, cursor)])]
    sql = f"select *, {columns} from {found.name}" if order else f"select * from {found.name}"
    sql += f" where {' and '.join(conditions)}" if conditions else ""
    limits = f" limit {asked.limit + 1} offset {cursor.returned if cursor else 0}"
    names = [f"{_ORDER}{at}" for at in range(len(order))]
    rows = list(_asked(found, sql, names, limits, asked.where).rows)
    return rows, [tuple(row.pop(name) for name in names) for row in rows]


def _fault(found: Relation, asked: Asked, error: BadQuery) -> Exception:
    """What is wrong when a page cannot be read: the request or, if it fails without that too, the store."""
    if isinstance(error, LeftToSpark) or str(error).startswith(AT_RUN_TIME):
        return LeftOut("where", str(error))
    try:
        _rows(found, [], Asked(limit=1), None)
    except BadQuery as own:
        return EnvironmentFault(f"{found.name} cannot be read now: {own}")
    if asked.where is None and asked.after is None:
        return EnvironmentFault(f"{found.name} cannot be read now: {error}")
    return BadParameter("where" if asked.where is not None else "after", str(error))


def _asked(found: Relation, sql: str, order: Sequence[str], limits: str, where: str | None) -> Rows:
    if where is not None:
        return filtered(found, sql, where, order, limits, OVER_HTTP)
    sql += f" order by {', '.join(order)}" if order else ""
    return query(sql + limits, found.tables, {found.name: found.sql})


def _order(found: Relation) -> tuple[str, ...]:
    """A total order of the rows: the relation's own and, where that may leave ties, a digest of the row."""
    shape = query(f"select * from {found.name} limit 0", found.tables, {found.name: found.sql})
    order = tuple(_comparable(column, shape.times) for column in found.order)
    if set(found.order) <= set(found.key) and found.order:  # current rows, by key
        return order
    texts = (f"coalesce(cast({_comparable(f'`{column}`', shape.times)} as string), '')" for column in shape.flat)
    return (*order, f"md5(concat_ws('|', '', {', '.join(texts)}))" if shape.flat else "1")


def _comparable(column: str, times: Container[str]) -> str:
    """A column as rows are sorted and found again by it: a time as its number, as those of far years have no text."""
    return f"cast(arrow_cast({column}, 'Int64') as bigint)" if column.strip("`") in times else column


def _from(order: Sequence[str], cursor: _Cursor) -> str:
    """The condition that a row is the cursor's or comes after it; nulls come last."""
    if len(cursor.values) != len(order):
        raise BadParameter("after", "this cursor is of another table")
    pairs = list(zip(order, map(_literal, cursor.values), strict=True))
    same = [f"{column} is null" if value is None else f"{column} = {value}" for column, value in pairs]
    later = ["false" if value is None else f"({column} > {value} or {column} is null)" for column, value in pairs]
    ways = [" and ".join((*same[:at], later[at])) for at in range(len(pairs))]
    return "(" + " or ".join(f"({way})" for way in (*ways, " and ".join(same))) + ")"


def _literal(value: Any) -> str | None:
    match value:
        case None:
            return None
        case bool() | int():
            return str(value).lower()
        case float():
            return f"cast('{value!r}' as double)"
        case Decimal():
            return f"cast('{value:f}' as decimal(38, {max(-int(value.as_tuple().exponent), 0)}))"
        case datetime():
            zone = "None" if value.tzinfo is None else 'Some("UTC")'
            return f"arrow_cast('{value.isoformat()}', 'Timestamp(Microsecond, {zone})')"
        case date():
            return f"date '{value.isoformat()}'"
        case _:
            return exp.Literal.string(str(value)).sql()


def _next(keys: Sequence[tuple[Any, ...]], before: _Cursor | None) -> str:
    last = keys[-1]
    returned = sum(1 for _ in takewhile(lambda key: key == last, reversed(keys)))
    if before is not None and before.values == last:
        returned += before.returned
    return _encoded(_Cursor(last, returned))


def _number(text: str) -> Decimal:
    number = Decimal(text)
    if not number.is_finite() or abs(number.adjusted()) > _DIGITS:  # it is written out with all its digits
        raise ValueError
    return number


_KINDS: Mapping[str, tuple[type, Callable[[str], Any]]] = {
    "t": (datetime, datetime.fromisoformat),  # before date, which a datetime is too
    "d": (date, date.fromisoformat),
    "n": (Decimal, _number),
    "f": (float, float),
}
"""Values that JSON has no type for, by a letter."""


def _encoded(cursor: _Cursor) -> str:
    text = json.dumps([cursor.returned, *map(_marked, cursor.values)], separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _marked(value: Any) -> Any:
    for letter, (kind, _) in _KINDS.items():
        if isinstance(value, kind):
            return {letter: value.isoformat() if isinstance(value, date) else str(value)}
    return value


def _decoded(text: str) -> _Cursor:
    try:
        returned, *values = json.loads(base64.b64decode(text + "=" * (-len(text) % 4), altchars="-_", validate=True))
        cursor = _Cursor(tuple(map(_unmarked, values)), returned)
    except (ValueError, TypeError, LookupError, InvalidOperation, RecursionError):
        raise BadParameter("after", "not a cursor that this service gave") from None
    if not isinstance(returned, int) or returned < 0:
        raise BadParameter("after", "not a cursor that this service gave")
    return cursor


def _unmarked(value: Any) -> Any:
    if isinstance(value, dict):
        ((letter, text),) = value.items()
        return _KINDS[letter][1](text)
    if isinstance(value, list):
        raise ValueError
    if isinstance(value, str):
        value.encode()  # a row holds no half of a character
    return value
