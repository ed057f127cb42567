"""A few rows as an Arrow table in the driver's Python, and as a frame of any session."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import ArrayType, DataType, StructType, TimestampType

from headrace.spark.columns import no_rows, nullable
from headrace.spark.materialized import Materialized

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class ArrowRows(Materialized):
    """Rows of an Arrow table."""

    table: pa.Table

    @property
    def held(self) -> pa.Table:
        return self.table

    def release(self) -> None:
        """Nothing to do: Python frees them."""

    def narrowed(self, fewer: DataFrame) -> Materialized:
        table = collected(fewer)
        return ArrowRows(as_frame(fewer.sparkSession, table, fewer.schema), table.num_rows, table)


def collected(frame: DataFrame) -> pa.Table:
    """The rows of a frame."""
    return frame.toArrow()


def as_frame(session: SparkSession, table: pa.Table, schema: StructType) -> DataFrame:
    """The rows of a table as a frame."""
    if not table.num_rows:
        return no_rows(session, nullable(schema))
    return session.createDataFrame(table, schema=nullable(schema))


def table_of(session: SparkSession, values: Sequence[Sequence[Any]], schema: StructType) -> pa.Table:
    """Rows from Python values; a time may be an integer in microseconds since 1970."""
    import pyarrow as pa

    kinds = _kinds(session, nullable(schema).json())
    columns = [
        pa.array([_plain(row[number], field.dataType) for row in values], kinds.field(number).type)
        for number, field in enumerate(schema.fields)
    ]
    return pa.Table.from_arrays(columns, schema=kinds)


def concatenated(session: SparkSession, parts: Sequence[pa.Table], schema: StructType) -> pa.Table:
    """All rows of several tables, in order."""
    import pyarrow as pa

    kinds = _kinds(session, nullable(schema).json())
    return pa.concat_tables([part.cast(kinds) for part in parts]) if parts else kinds.empty_table()


@lru_cache(maxsize=200)
def _kinds(session: SparkSession, schema: str) -> pa.Schema:
    """The types that Spark gives to columns as Arrow."""
    return collected(no_rows(session, StructType.fromJson(json.loads(schema)))).schema


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
