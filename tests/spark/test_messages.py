"""JSON output of tables: published values, and the rows of a view; no part of a value is lost."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headrace.commands.viewing import read_exactly
from headrace.project.model import Publish
from headrace.publishing.messages import message_rows
from headrace.reading.rows import to_json

pytestmark = pytest.mark.spark

COLUMNS: dict[str, tuple[str, Any]] = {
    "at": ("timestamp'2026-01-01 10:00:00.123456Z'", "2026-01-01T10:00:00.123456Z"),
    "whole_second": ("timestamp'2026-01-01 10:00:00Z'", "2026-01-01T10:00:00.000000Z"),
    "within": ("array(timestamp'2026-01-01 10:00:00.000001Z')", ["2026-01-01T10:00:00.000001Z"]),
    "day": ("date'2026-01-01'", "2026-01-01"),
    "took": ("cast(interval '1 2:03:04.5' day to second as string)", "INTERVAL '1 02:03:04.5' DAY TO SECOND"),
    "flag": ("true", True),
    "text": ("'Zoë 😀 \"'", 'Zoë 😀 "'),
    "bytes": ("x'00ff'", "AP8="),
    "parts": ("named_struct('a', 1, 'b', map('k', 2))", {"a": 1, "b": {"k": 2}}),
    "nothing": ("cast(null as string)", None),
}


def test_published_values_are_whole(spark: SparkSession) -> None:
    rows = spark.sql(f"select {', '.join(f'{sql} as {name}' for name, (sql, _) in COLUMNS.items())}")
    publish = Publish("text", tuple((name, name) for name in COLUMNS), "topic")
    (message,) = message_rows(rows, publish).collect()
    assert json.loads(message.value) == {name: value for name, (_, value) in COLUMNS.items()}


def test_rows_of_a_view_are_whole(spark: SparkSession) -> None:
    columns = {**COLUMNS, "price": ("cast('12345678901234567890.10' as decimal(38, 2))", None)}
    (row,) = read_exactly(spark.sql(f"select {', '.join(f'{sql} as {name}' for name, (sql, _) in columns.items())}"))
    assert to_json(row.pop("price")) == "12345678901234567890.10"
    assert row == {name: value for name, (_, value) in COLUMNS.items()}
