"""Python values and Arrow tables as frames of any session.

All travel as Arrow. `createDataFrame` of Python values pickles them, and executors would need the driver's version of
Python to unpack them; a cluster need not have any.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import ArrayType, DataType, StructType, TimestampType

from headrace.spark.columns import no_rows, nullable

if TYPE_CHECKING:
    import pyarrow as pa


def frame_of_values(session: SparkSession, values: Iterable[Sequence[Any]], schema: StructType) -> DataFrame:
    """Rows from Python values as a frame; a time may be an integer in microseconds since 1970."""
    return as_frame(session, table_of(session, [*values], schema), schema)


def as_frame(session: SparkSession, table: pa.Table, schema: StructType) -> DataFrame:
    """The rows of a table as a frame."""
    if not table.num_rows:
        return no_rows(session, nullable(schema))
    return session.createDataFrame(table, schema=nullable(schema))


def table_of(session: SparkSession, values: Sequence[Sequence[Any]], schema: StructType) -> pa.Table:
    """Rows from Python values; a time may be an integer in microseconds since 1970."""
    import pyarrow as pa

    kinds = arrow_schema(session, schema)
    columns = [
        pa.array([_plain(row[number], field.dataType) for row in values], kinds.field(number).type)
        for number, field in enumerate(schema.fields)
    ]
    return pa.Table.from_arrays(columns, schema=kinds)


def arrow_schema(session: SparkSession, schema: StructType) -> pa.Schema:
    """The types that Spark gives to columns as Arrow, all of them nullable."""
    return _schema(session, nullable(schema).json())


@lru_cache(maxsize=200)
def _schema(session: SparkSession, schema: str) -> pa.Schema:
    return no_rows(session, StructType.fromJson(json.loads(schema))).toArrow().schema


def _plain(value: Any, kind: DataType) -> Any:
    """A value as Arrow takes it: structs by name."""
    if value is None:
        return None
    if isinstance(kind, StructType):
        items = (value[name] for name in kind.names) if isinstance(value, dict) else value
        return {field.name: _plain(item, field.dataType) for field, item in zip(kind.fields, items, strict=True)}
    if isinstance(kind, TimestampType) and not isinstance(value, int):
        return kind.toInternal(value)
    if isinstance(kind, ArrayType):
        return [_plain(item, kind.elementType) for item in value]
    return value
