"""Rows that are kept in memory: of any size, many or none, until they are given back."""

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
    given = texts(session, *sizes).repartition(parts)
    kept = materialize(given)
    assert (kept.count, kept.frame.schema) == (len(sizes), given.schema)
    for _ in range(2):
        assert sorted(kept.frame.collect()) == sorted(given.collect())
    kept.release()


def test_rows_may_have_no_columns_and_partitions_no_rows(session: SparkSession) -> None:
    assert materialize(session.range(1000).select()).frame.selectExpr("1 as one").count() == 1000
    assert materialize(session.range(2).repartition(7)).frame.count() == 2
    assert materialize(no_rows(session, StructType().add("n", "integer"))).count == 0


def test_memory_is_given_back(session: SparkSession) -> None:
    context = session.sparkContext._jsc.sc()
    before = len(context.getRDDStorageInfo())
    kept = materialize(texts(session, *[1000] * 3000).coalesce(1))
    assert len(context.getRDDStorageInfo()) == before + 1
    kept.release()
    assert len(context.getRDDStorageInfo()) == before
