"""Types of what a header compares: keys, and the columns that data tests check.

Spark sees such a comparison only in a batch. So what would fail there is found here: keys that hold maps, values that
are not of a column's type, and relationships between columns of different types.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pyspark.sql import SparkSession
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DateType,
    MapType,
    NumericType,
    StringType,
    StructType,
    TimestampType,
)
from sqlglot import exp

from headrace.errors import Finding, Place
from headrace.project.model import DataTest, Model
from headrace.project.sql import dialect

_ALIKE: tuple[type[DataType] | tuple[type[DataType], ...], ...] = (NumericType, StringType, (DateType, TimestampType))
"""Types that Spark compares without a cast that may fail."""


def findings(session: SparkSession, model: Model, schemas: Mapping[str, StructType]) -> Iterator[Finding]:
    """Find what a model's header compares and Spark cannot."""
    kinds = {field.name.lower(): field.dataType for field in schemas[model.table]}
    for key in ("unique_key", "once_per"):
        for column in getattr(model, key):
            if _holds_map(kinds.get(column.lower())):
                yield _of_map(model.header_places.get(key, Place(model.path)), key, column)
    for test in model.tests:
        kind = kinds.get((test.column or "").lower())
        if kind is not None and (fault := _fault(session, test, kind, schemas)):
            place = test.place or Place(model.path)
            yield Finding(place, "column-type", f"tests.columns.{test.column}: {fault}")


def _of_map(place: Place, key: str, column: str) -> Finding:
    return Finding(place, "column-type", f"{key}: {_uncompared(column)}")


def _uncompared(column: str) -> str:
    message = f"column {column} holds a map, and maps cannot be compared; take one of its values, or its text"
    return f"{message}: `to_json(array_sort(map_entries({column})))`"


def _fault(session: SparkSession, test: DataTest, kind: DataType, schemas: Mapping[str, StructType]) -> str | None:
    if test.kind == "unique" and _holds_map(kind):
        return _uncompared(str(test.column))
    if test.kind == "accepted_values" and (strange := _strange_value(session, test, kind)):
        return f"{strange} is no {kind.simpleString()}, so it is never the value of {test.column}; take it out"
    if test.kind == "relationships" and test.to is not None and test.to in schemas:
        target = {field.name.lower(): field.dataType for field in schemas[test.to]}
        other = target.get(str(test.field).lower())
        if other is not None and not _are_alike(kind, other):
            mismatch = f"{test.column} is {kind.simpleString()}, and {test.to}.{test.field} is {other.simpleString()}"
            return f"{mismatch}; cast one of them, so that they are of one type"
    return None


def _strange_value(session: SparkSession, test: DataTest, kind: DataType) -> str | None:
    """The first text among the accepted values that is no value of the column's type."""
    condition = dialect.parse(f"select {test.fails}", "tests").tree
    texts = [each.sql("databricks") for each in condition.find_all(exp.Literal) if each.is_string]
    if isinstance(kind, (StringType, ArrayType, MapType, StructType)):
        return None  # Spark itself reports the last three
    tried = (f"select try_cast({text} as {kind.simpleString()}) is null" for text in texts)
    return next((text for text, sql in zip(texts, tried, strict=True) if session.sql(sql).collect()[0][0]), None)


def _are_alike(kind: DataType, other: DataType) -> bool:
    if _holds_map(kind):
        return False
    return kind == other or any(isinstance(kind, each) and isinstance(other, each) for each in _ALIKE)


def _holds_map(kind: DataType | None) -> bool:
    if isinstance(kind, ArrayType):
        return _holds_map(kind.elementType)
    if isinstance(kind, StructType):
        return any(_holds_map(field.dataType) for field in kind)
    return isinstance(kind, MapType)
