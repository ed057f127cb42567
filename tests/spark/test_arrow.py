"""Python values become frames although executors have no Python."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest
from pyspark.sql import Row, SparkSession

from headrace.spark.arrow import frame_of_values
from headrace.spark.columns import columns_of, landing_schema, no_rows

pytestmark = pytest.mark.spark

SHAPE = {
    "n": "bigint",
    "text": "string",
    "bytes": "binary",
    "at": "timestamp",
    "inner": "struct<a: int, b: array<string>>",
    "headers": "array<struct<key: string, value: binary>>",
}
NOON = datetime(2026, 1, 2, 12, 0, 0, 123456)
ROWS = [
    (2**62, "Größe \u2028\0", b"\xff\0", NOON, (1, ["x", None]), [("k", b"v"), ("k", None)]),
    (None, "", b"", None, None, []),
    (None,) * 6,
]


@pytest.fixture(autouse=True)
def without_python(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark.sparkContext, "pythonExec", "no-python-on-executors")


def test_values_are_those_that_were_given(spark: SparkSession) -> None:
    assert [tuple(row) for row in frame_of_values(spark, ROWS, columns_of(SHAPE)).collect()] == ROWS


def test_time_may_be_microseconds(spark: SparkSession) -> None:
    (row,) = frame_of_values(spark, [(1_700_000_000_000_001,)], columns_of({"at": "timestamp"})).collect()
    assert row["at"] == datetime.fromtimestamp(1_700_000_000, timezone.utc).replace(microsecond=1, tzinfo=None)


def test_no_values_are_a_frame_too(spark: SparkSession) -> None:
    found = frame_of_values(spark, [], columns_of(SHAPE))
    assert (found.columns, found.count()) == ([*SHAPE], 0)
    assert no_rows(spark, columns_of(SHAPE)).count() == 0


def test_landed_row_stays_as_it_is(spark: SparkSession) -> None:
    row = Row(1, "t", 0, 7, "k", "{}", [Row("h", bytearray(b"1"))], NOON, None, NOON, None, None, bytearray(b"\xfe"))
    assert frame_of_values(spark, [row], landing_schema()).collect() == [row]
