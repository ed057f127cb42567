"""Rows kept for the next reader: the newest commit of each table, if it is small."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headrace.engine.delta import Materialized, materialize
from headrace.engine.kept import Plans
from headrace.engine.session import SMALL_BATCH_ROWS
from headrace.engine.shelf import Shelf

pytestmark = pytest.mark.spark

TABLE = Path("table")


def test_newest_commit_is_handed_over(spark: SparkSession) -> None:
    shelf, first = Shelf(), rows(spark, "a", "b")
    shelf.put(TABLE, 7, first)
    taken = shelf.take(TABLE, 7)
    assert taken is not None
    plans = Plans(spark.newSession())
    filled = plans.fill("read", taken, first.frame.schema)
    assert filled.frame.sparkSession is plans.session
    assert [row.id for row in filled.frame.collect()] == ["a", "b"] and filled.count == 2


def test_other_versions_and_tables_are_not_there(spark: SparkSession) -> None:
    shelf = Shelf()
    shelf.put(TABLE, 7, rows(spark, "a"))
    assert shelf.take(TABLE, 6) is None
    assert shelf.take(Path("other"), 7) is None


def test_next_commit_takes_the_place(spark: SparkSession) -> None:
    shelf = Shelf()
    shelf.put(TABLE, 1, rows(spark, "a"))
    shelf.put(TABLE, 2, rows(spark, "b"))
    assert shelf.take(TABLE, 1) is None and shelf.take(TABLE, 2) is not None


def test_kept_rows_are_those_of_their_commit(spark: SparkSession) -> None:
    shelf, plans = Shelf(), Plans(spark.newSession())
    first = plans.put("slot", rows(spark, "a"))
    shelf.put(TABLE, 1, first)
    taken = shelf.take(TABLE, 1)
    plans.put("slot", rows(spark, "b"))  # the writer goes on
    assert taken is not None
    assert [row.id for row in plans.fill("read", taken, first.frame.schema).frame.collect()] == ["a"]


def test_large_commit_is_not_kept(spark: SparkSession) -> None:
    shelf = Shelf()
    shelf.put(TABLE, 1, rows(spark, "a"))
    shelf.put(TABLE, 2, materialize(spark.range(SMALL_BATCH_ROWS + 1)))
    assert shelf.take(TABLE, 1) is None and shelf.take(TABLE, 2) is None


def rows(spark: SparkSession, *ids: str) -> Materialized:
    return materialize(spark.createDataFrame([(each,) for each in ids], "id string").coalesce(1))
