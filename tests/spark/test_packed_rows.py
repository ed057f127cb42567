"""Rows that are kept in memory: of any size, many or none, and sent as they are packed."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from headrace.spark.columns import no_rows
from headrace.spark.jvm import each
from headrace.spark.materialized import Materialized, materialize

pytestmark = pytest.mark.spark

BLOCK = 1 << 16


@pytest.fixture
def session(spark: SparkSession) -> SparkSession:
    return spark.newSession()


def packed(rows: Materialized) -> Any:
    """The RDD that holds the memory."""
    (below,) = each(rows.frame._jdf.queryExecution().logical().rdd().dependencies())
    return below.rdd()


def texts(session: SparkSession, *sizes: int) -> DataFrame:
    rows = [(number, "x" * size, [None, "é", ""], None) for number, size in enumerate(sizes)]
    return session.createDataFrame(rows, "n int, text string, list array<string>, none decimal(38, 8)")


@pytest.mark.parametrize(
    "sizes",
    [
        pytest.param([0, 1, 7, 8, 9], id="few"),
        pytest.param([BLOCK - 200, 500, BLOCK, 3 * BLOCK, 0, BLOCK + 1], id="larger than a block"),
        pytest.param([50] * 5000, id="many"),
    ],
)
@pytest.mark.parametrize("parts", [1, 3])
def test_rows_are_what_they_were(session: SparkSession, sizes: list[int], parts: int) -> None:
    given = texts(session, *sizes).repartition(parts)
    kept = materialize(given)
    assert (kept.count, kept.frame.schema) == (len(sizes), given.schema)
    for _ in range(2):
        assert sorted(kept.frame.collect()) == sorted(given.collect())
    kept.release()


def test_rows_may_be_held_while_others_are_read(session: SparkSession) -> None:
    kept = materialize(session.range(20_000).coalesce(1))
    rows = kept.frame._jdf.queryExecution().logical().rdd().collect()
    assert [rows[number].getLong(0) for number in (0, 1, 19_999)] == [0, 1, 19_999]
    in_order = kept.frame.select(F.collect_list("id").alias("ids")).selectExpr("ids = sequence(0, 19999) as is_it")
    assert in_order.first() == (True,)


def test_rows_may_have_no_columns_and_partitions_no_rows(session: SparkSession) -> None:
    assert materialize(session.range(1000).select()).frame.selectExpr("1 as one").count() == 1000
    assert materialize(session.range(2).repartition(7)).frame.count() == 2
    assert materialize(no_rows(session, StructType().add("n", "integer"))).count == 0


def test_spark_knows_how_much_memory_they_take(session: SparkSession) -> None:
    kept = materialize(texts(session, *[1000] * 3000).coalesce(1))
    (held,) = [held for held in _held(session) if held.id() == packed(kept).id()]
    assert 3000 * 1000 < held.memSize() < 3000 * 1200
    kept.release()
    assert packed(kept).id() not in [held.id() for held in _held(session)]


def test_what_is_packed_can_be_sent(session: SparkSession) -> None:
    """A task's result is written out and read in again, as is what no memory is left for."""
    kept = materialize(texts(session, *[100] * 3000).coalesce(2))
    blocks = packed(kept).collect()
    assert len(blocks) > 2
    assert all(block.estimatedSize() < 2 * BLOCK for block in blocks)


def _held(session: SparkSession) -> Any:
    return session.sparkContext._jsc.sc().getRDDStorageInfo()
