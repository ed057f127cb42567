"""Columns given by name and DDL type as Spark's schemas, and frames that have columns but no rows."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import DataType, StructField, StructType

from headrace.project.model import LANDING_COLUMNS


def columns_of(types: Mapping[str, str]) -> StructType:
    """The schema of columns given by name and DDL type."""
    return StructType([StructField(name, type_of(ddl)) for name, ddl in types.items()])


def landing_schema() -> StructType:
    """Schema of every landing table."""
    return columns_of(dict(LANDING_COLUMNS))


@cache
def type_of(ddl: str) -> DataType:
    """The type of a column as DDL says it; only the JVM can read that."""
    return DataType.fromDDL(ddl)


def no_rows(session: SparkSession, schema: StructType) -> DataFrame:
    """An empty frame, made without the Python RDD that `createDataFrame` makes even of nothing."""
    spark: Any = session._jsparkSession
    jvm: Any = session._jvm
    rows = spark.createDataFrame(jvm.java.util.ArrayList(), spark.parseDataType(schema.json()))
    return DataFrame(rows, session)
