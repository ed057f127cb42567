"""Rows cached in memory: of any size, many or none, until they are released."""

from __future__ import annotations

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from headrace.spark.columns import no_rows
from headrace.spark.implementations import materialize

pytestmark = pytest.mark.spark


@pytest.fixture
def session(spark: SparkSession) -> SparkSession:
    return spark.newSession()


def texts(session: SparkSession, *sizes: int) -> DataFrame:
    rows = [(number, "x" * size, [None, "é", ""], None) for number, size in enumerate(sizes)]
    return session.createDataFrame(rows, "n int, text string, list array<string>, none decimal(38, 8)")


@pytest.mark.parametrize(
    "sizes",
    [pytest.param([0, 1, 100_000, 9], id="few"), pytest.param([50] * 5000, id="many"), pytest.param([], id="none")],
)
@pytest.mark.parametrize("parts", [1, 3])
def test_rows_are_what_they_were(session: SparkSession, sizes: list[int], parts: int) -> None:
    rows = texts(session, *sizes).repartition(parts)
    cached = materialize(rows)
    assert (cached.count, cached.frame.schema) == (len(sizes), rows.schema)
    for _ in range(2):
        assert sorted(cached.frame.collect()) == sorted(rows.collect())
    cached.release()


def test_rows_may_have_no_columns_and_partitions_no_rows(session: SparkSession) -> None:
    assert materialize(session.range(1000).select()).frame.selectExpr("1 as one").count() == 1000
    assert materialize(session.range(2).repartition(7)).frame.count() == 2
    assert materialize(no_rows(session, StructType().add("n", "integer"))).count == 0


def test_memory_is_released(session: SparkSession) -> None:
    context = session.sparkContext._jsc.sc()
    before = len(context.getRDDStorageInfo())
    cached = materialize(texts(session, *[1000] * 3000).coalesce(1))
    assert len(context.getRDDStorageInfo()) == before + 1
    cached.release()
    assert len(context.getRDDStorageInfo()) == before
