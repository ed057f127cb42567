"""Types that the columns of a stored model cannot have, each with the cast to use.

They raise the protocol of a Delta table or are no types of Delta at all; headrace writes tables that every
reader reads (writer version 2).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    DayTimeIntervalType,
    MapType,
    NullType,
    NumericType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
    VariantType,
)

from headrace.errors import Finding
from headrace.project.model import Model
from headrace.project.rules import column_rules
from headrace.project.sql import result_columns

_CASTS: tuple[tuple[type[DataType], str], ...] = (
    (TimestampNTZType, "cast it: `cast({} as timestamp)`"),
    (VariantType, "write it as text: `to_json({})`"),
    (NullType, "say its type: `cast(null as string)`"),
    (DayTimeIntervalType, "cast it: `cast({} as string)`, or a number of seconds: `extract(...)`"),
)
_STORABLE = (BinaryType, BooleanType, DateType, NumericType, TimestampType)
_BINARY = StringType().simpleString()


def findings(model: Model, schema: StructType) -> Iterator[Finding]:
    """Find the columns that headrace cannot store, by name and by type."""
    yield from (finding for _, finding in column_rules.faults(model, schema.names))
    for field in schema:
        for path, struct in _structs(field.name, field.dataType):
            for _, finding in column_rules.unfit(model, struct.names):
                yield replace(finding, message=f"column {path}: {finding.message}")
        if not isinstance(field.dataType, NullType):  # that has its own finding
            for path, kind in _refused(field.name, field.dataType):
                place = model.header_places.get("columns") or result_columns.place(model.text, model.path, field.name)
                yield Finding(place, "column-type", f"column {path}: {_described(kind)}; {_cast(path, kind)}")


def _refused(path: str, kind: DataType) -> Iterator[tuple[str, DataType]]:
    """The parts of a column that cannot be stored, each with its path."""
    parts = [*_parts(path, kind)]
    for inner, part in parts:
        yield from _refused(inner, part)
    is_storable = isinstance(kind, (*_STORABLE, StructType)) or kind.simpleString() == _BINARY
    if not parts and not is_storable:
        yield path, kind


def _structs(path: str, kind: DataType) -> Iterator[tuple[str, StructType]]:
    if isinstance(kind, StructType):
        yield path, kind
    for inner, part in _parts(path, kind):
        yield from _structs(inner, part)


def _parts(path: str, kind: DataType) -> Iterator[tuple[str, DataType]]:
    if isinstance(kind, StructType):
        yield from ((f"{path}.{field.name}", field.dataType) for field in kind)
    elif isinstance(kind, ArrayType):
        yield f"{path}[]", kind.elementType
    elif isinstance(kind, MapType):
        yield f"{path} (key)", kind.keyType
        yield f"{path} (value)", kind.valueType


def _described(kind: DataType) -> str:
    return "it has no type" if isinstance(kind, NullType) else f"no table here keeps type {kind.simpleString()}"


def _cast(path: str, kind: DataType) -> str:
    known = (advice for refused, advice in _CASTS if isinstance(kind, refused))
    return next(known, "cast it: `cast({} as string)`").format(re.split(r"\[| ", path)[0])
