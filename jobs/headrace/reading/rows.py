"""Rows of a query without a JVM: DataFusion runs the SQL, Python values and JSON text come out.

deltalake is imported on first use: many a command only prints.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING, Any

from arro3.core import Array, DataType, RecordBatch, RecordBatchReader

from headrace.errors import UsageError
from headrace.store import damage
from headrace.terminal import printable

if TYPE_CHECKING:
    from deltalake import DeltaTable, QueryBuilder

Row = dict[str, Any]

_TIMES = re.compile(r"Timestamp\(|Date32|Date64")
"""Arrow's types of times, in the text of a type."""


class BadQuery(UsageError):
    """The SQL of a command cannot be run; the message says why in one line."""


@dataclass(frozen=True)
class Rows:
    """The answer of a query: its columns, its rows, which are read lazily, and notes for people.

    `brief` are the columns to print as text; empty means all but those that start with `_`. `flat` are the
    columns of a query that hold no struct, list or map, and `times` those that are timestamps or dates.
    """

    columns: tuple[str, ...]
    rows: Iterator[Row]
    notes: tuple[str, ...] = ()
    brief: tuple[str, ...] = ()
    flat: tuple[str, ...] = ()
    times: frozenset[str] = frozenset()


def query(sql: str, tables: Mapping[str, DeltaTable], views: Mapping[str, str]) -> Rows:
    """Run one query over Delta tables and over views of them, both by name (a view's may have a schema)."""
    return read(stream(sql, tables, views), _one_line)


def stream(sql: str, tables: Mapping[str, DeltaTable], views: Mapping[str, str]) -> RecordBatchReader:
    """The answer of one query as Arrow batches."""
    from deltalake.exceptions import DeltaError

    try:
        return _session(tables, views).execute(sql)
    except DeltaError as error:
        raise damage.found(str(error)) or BadQuery(_one_line(error)) from None


def read(reader: RecordBatchReader, describe: Callable[[Exception], str]) -> Rows:
    """The rows of Arrow batches; `describe` puts an engine's error in one line."""
    if any(map(DataType.is_interval, reader.schema.types)):
        raise BadQuery("an interval cannot be shown: cast it to string")
    names, types = reader.schema.names, reader.schema.types
    flat = tuple(name for name, kind in zip(names, types, strict=True) if not DataType.is_nested(kind))
    times = frozenset(name for name, kind in zip(names, types, strict=True) if DataType.is_temporal(kind))
    return Rows(tuple(names), _rows(reader, describe), flat=flat, times=times)


def to_json(value: Any) -> str:
    """Write a row or value as JSON: ISO times, exact decimals, base64 for bytes, null for NaN."""
    try:
        return _encoder().encode(value)
    except (TypeError, ValueError):  # a decimal or NaN somewhere, which the quick encoder cannot write
        return _exact_json(value)


def to_text(value: Any) -> str:
    """Write a value for people, in one line: as its JSON, but a string or time without quotes."""
    text = to_json(value)
    return printable(_text(value) if text.startswith('"') else text)


@cache
def _encoder() -> json.JSONEncoder:
    return json.JSONEncoder(ensure_ascii=False, allow_nan=False, default=_unless_decimal)


def _unless_decimal(value: Any) -> str:
    if isinstance(value, Decimal):
        raise TypeError
    return _text(value)


def _exact_json(value: Any) -> str:
    match value:
        case dict():
            members = (f"{json.dumps(str(name), ensure_ascii=False)}: {to_json(each)}" for name, each in value.items())
            return "{" + ", ".join(members) + "}"
        case list() | tuple():
            return "[" + ", ".join(map(to_json, value)) + "]"
        case Decimal() if value.is_finite():
            return format(value, "f")
        case float() | Decimal():
            return "null"
        case _:
            return json.dumps(_text(value), ensure_ascii=False)


def _text(value: Any) -> str:
    match value:
        case datetime():
            return value.isoformat().replace("+00:00", "Z")
        case date() | time():
            return value.isoformat()
        case bytes():
            return base64.b64encode(value).decode()
        case _:
            return str(value)


def _session(tables: Mapping[str, DeltaTable], views: Mapping[str, str]) -> QueryBuilder:
    from deltalake import QueryBuilder

    session = QueryBuilder({"datafusion.sql_parser.dialect": "databricks"})
    for name, table in tables.items():
        session.register(name, table)
    for schema in sorted({name.split(".")[0] for name in views if "." in name}):
        session.execute(f"create schema {schema}")
    for name, text in views.items():
        session.execute(f"create view {name} as {text}")
    return session


def _rows(reader: RecordBatchReader, describe: Callable[[Exception], str]) -> Iterator[Row]:
    names = reader.schema.names
    for batch in _batches(reader, describe):
        for values in zip(*(_values(column) for column in batch.columns), strict=True):
            yield dict(zip(names, values, strict=True))


def _batches(reader: RecordBatchReader, describe: Callable[[Exception], str]) -> Iterator[RecordBatch]:
    try:
        yield from reader
    except Exception as error:  # faults at run time come as plain Exception
        raise damage.found(str(error)) or BadQuery(describe(error)) from None


def _values(column: Array) -> list[Any]:
    values = _known_to_python(column)
    if values is None:
        from headrace.reading import far_times  # pyarrow is slow to import

        values = far_times.values(column)
    # A map arrives as a list of pairs.
    return [value and dict(value) for value in values] if DataType.is_map(column.type) else values


def _known_to_python(column: Array) -> list[Any] | None:
    """The values; None if there is, or within others may be, a time that Python's datetime cannot hold.

    arro3 raises for some of these and takes others, such as that of the year 294247, for null.
    """
    if DataType.is_nested(column.type) and _TIMES.search(str(column.type)):
        return None
    try:
        values: list[Any] = [*column.to_pylist()]
    except ValueError:
        return None
    is_whole = not DataType.is_temporal(column.type) or values.count(None) == column.null_count
    return values if is_whole else None


def _one_line(error: Exception) -> str:
    text = str(error).split("\ncaused by\n")[-1]
    text = re.sub(r"^(External error|SQL error|Schema error|Arrow error|Error during planning): ", "", text)
    text = re.sub(r'^ParserError\("(.*)"\)$', r"\1", text)
    return " ".join(text.replace("datafusion.", "").split())
