"""Columns: given by name and DDL type, of one value, and those of frames that have no rows."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql.functions.builtin import _invoke_function
from pyspark.sql.types import DataType, StructField, StructType, _parse_datatype_json_string
from pyspark.sql.utils import get_active_spark_context

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
    """The type of a column as DDL says it; only the JVM can read that.

    PySpark's own way first tries whether it is a list of columns, and that fails with a long message: 0.2 CPU-s.
    """
    jvm: Any = get_active_spark_context()._jvm
    return _parse_datatype_json_string(jvm.org.apache.spark.sql.types.DataType.fromDDL(ddl).json())


def no_rows(session: SparkSession, schema: StructType) -> DataFrame:
    """An empty frame, made without the Python RDD that `createDataFrame` makes even of nothing."""
    spark: Any = session._jsparkSession
    jvm: Any = session._jvm
    rows = spark.createDataFrame(jvm.java.util.ArrayList(), spark.parseDataType(schema.json()))
    return DataFrame(rows, session)


def lit(value: Any) -> Column:
    """A value of Python's as a column.

    PySpark's own `lit` looks whether it is numpy's, and to know that imports pandas and its test tools where they are
    installed: half a CPU-second of a start.
    """
    return _invoke_function("lit", value)


def nullable(schema: StructType) -> StructType:
    """The schema with every column and field nullable, as a stored table has it."""
    return _parsed(schema.json().replace('"nullable":false', '"nullable":true'))


@lru_cache(maxsize=1000)
def _parsed(schema: str) -> StructType:
    return StructType.fromJson(json.loads(schema))
