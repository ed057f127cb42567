"""Rows built from Python values equal those of `createDataFrame`, and need no job."""

from __future__ import annotations

from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import Row, SparkSession

from headrace.spark.columns import columns_of
from headrace.spark.driver.buffer import Buffer
from headrace.spark.driver.rows import Rows, collected, local_frame

pytestmark = pytest.mark.spark

KINDS = {
    "text": "string",
    "bytes": "binary",
    "whole": "int",
    "long": "bigint",
    "tiny": "tinyint",
    "yes": "boolean",
    "ratio": "double",
    "exact": "decimal(38, 8)",
    "day": "date",
    "moment": "timestamp",
    "list": "array<struct<key: string, value: binary>>",
    "names": "map<string, bigint>",
    "inner": "struct<a: struct<b: timestamp>, c: array<array<int>>>",
}
MOMENT = datetime(2026, 1, 1, 10, 30, 0, 123456, tzinfo=timezone.utc)
FULL = (
    "ä😀\0",
    b"\xff\x00",
    -(2**31),
    2**63 - 1,
    -128,
    True,
    -0.0,
    Decimal("123456789012345678901234567890.12345678"),
    date(1, 1, 1),
    MOMENT,
    [("k", b"v"), (None, bytearray(b"w")), None],
    {"a": 1, "b": None},
    Row(a=Row(b=MOMENT), c=[[1, None], [], None]),
)
VALUES: list[tuple[Any, ...]] = [FULL, (None,) * len(KINDS), ("", b"", 0, 0, 0, False, float("inf"), *[None] * 6)]


def test_rows_are_those_that_spark_makes(spark: SparkSession) -> None:
    schema = columns_of(KINDS)
    made = local_frame(spark, Rows.of_values(spark, VALUES, schema).array, schema)
    assert made.schema == schema
    assert made.collect() == spark.createDataFrame(VALUES, schema).collect()


def test_reading_them_is_no_job(spark: SparkSession) -> None:
    schema = columns_of(KINDS)
    frame = local_frame(spark, Rows.of_values(spark, VALUES, schema).array, schema)
    assert "LocalTableScan" in str(frame.select("text", "inner.c")._jdf.queryExecution().executedPlan().toString())


def test_no_rows_are_no_rows(spark: SparkSession) -> None:
    schema = columns_of(KINDS)
    assert local_frame(spark, Rows.of_values(spark, [], schema).array, schema).collect() == []


def test_rows_of_a_buffer_and_of_a_frame_become_local(spark: SparkSession) -> None:
    schema = columns_of({"id": "bigint", "name": "string"})
    filled = Buffer(spark, schema).filled(Rows.of_values(spark, [(1, "a"), (2, None)], schema))
    assert local_frame(spark, collected(filled.frame.where("id > 1")).array, schema).collect() == [(2, None)]


def test_numbers_are_as_large_as_their_columns(spark: SparkSession) -> None:
    schema = columns_of({"whole": "int", "long": "bigint", "moment": "timestamp", "ratio": "double"})
    for row in ((1, 1, 1, 1.0), (2**31 - 1, 2**31, 2**40, 0.5), (None, -1, None, None)):
        made = local_frame(spark, Rows.of_values(spark, [row], schema).array, schema)
        as_numbers = made.selectExpr("whole", "long", "unix_micros(moment)", "ratio")
        assert as_numbers.collect() == [row]
