"""Rows kept for the next reader: handed over once committed, and given up as soon as nobody needs them."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headrace.engine.delta import Materialized, materialize
from headrace.engine.session import SMALL_BATCH_ROWS
from headrace.engine.shelf import Shelf

pytestmark = pytest.mark.spark

TABLE = Path("table")


def test_newest_commit_is_handed_over(spark: SparkSession) -> None:
    shelf, other = Shelf(), spark.newSession()
    shelf.put(TABLE, 7, rows(spark, "a"))
    taken = shelf.take(TABLE, 7, other)
    assert taken is not None and taken.frame.sparkSession is other
    assert [row.id for row in taken.frame.collect()] == ["a"] and taken.count == 1


def test_other_versions_and_tables_are_not_there(spark: SparkSession) -> None:
    shelf = Shelf()
    shelf.put(TABLE, 7, rows(spark, "a"))
    assert shelf.take(TABLE, 6, spark) is None
    assert shelf.take(Path("other"), 7, spark) is None


def test_next_commit_takes_the_place(spark: SparkSession) -> None:
    shelf, first = Shelf(), rows(spark, "a")
    shelf.put(TABLE, 1, first)
    shelf.put(TABLE, 2, rows(spark, "b"))
    assert shelf.take(TABLE, 1, spark) is None and not is_kept(first)


def test_reader_may_finish_first(spark: SparkSession) -> None:
    shelf, first = Shelf(), rows(spark, "a")
    shelf.put(TABLE, 1, first)
    taken = shelf.take(TABLE, 1, spark)
    assert taken is not None
    shelf.put(TABLE, 2, rows(spark, "b"))
    assert is_kept(first) and [row.id for row in taken.frame.collect()] == ["a"]
    taken.release()
    assert not is_kept(first)


def test_large_commit_is_not_kept(spark: SparkSession) -> None:
    shelf, large = Shelf(), materialize(spark.range(SMALL_BATCH_ROWS + 1))
    shelf.put(TABLE, 1, large)
    assert shelf.take(TABLE, 1, spark) is None and not is_kept(large)


def rows(spark: SparkSession, *ids: str) -> Materialized:
    return materialize(spark.createDataFrame([(each,) for each in ids], "id string").coalesce(1))


def is_kept(found: Materialized) -> bool:
    return bool(found.frame._jdf.queryExecution().logical().rdd().getStorageLevel().useMemory())
