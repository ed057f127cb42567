"""Columns: schemas from names and DDL types, the type of one column, and frames that have no rows."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache, lru_cache

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import DataType, StructField, StructType

from headrace.project.model import LANDING_COLUMNS

AS_JSON = {"ignoreNullFields": "false", "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX"}
"""How rows are written as JSON: null as null, and times to the microsecond; by default Spark drops the last three."""


def columns_of(types: Mapping[str, str]) -> StructType:
    """The schema of columns given by name and DDL type."""
    return StructType([StructField(name, type_of(ddl)) for name, ddl in types.items()])


def landing_schema() -> StructType:
    """Schema of every landing table."""
    return columns_of(dict(LANDING_COLUMNS))


@cache
def type_of(ddl: str) -> DataType:
    """The type of a column from its DDL, which only the JVM can parse."""
    found = StructType.fromDDL(f"c {ddl}")  # `DataType.fromDDL` tries two readings, and the one that fails is slow
    assert isinstance(found, StructType)
    return found.fields[0].dataType


def no_rows(session: SparkSession, schema: StructType) -> DataFrame:
    """An empty frame that Spark's optimizer knows to be empty."""
    return session.createDataFrame([], schema).limit(0)


def nullable(schema: StructType) -> StructType:
    """The schema with every column and field nullable, as a stored table has it."""
    return _parsed(schema.json().replace('"nullable":false', '"nullable":true'))


@lru_cache(maxsize=1000)
def _parsed(schema: str) -> StructType:
    return StructType.fromJson(json.loads(schema))
