"""Rows cached in memory: what Spark's planner knows of their partitioning and emptiness."""

from __future__ import annotations

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from headrace.spark.implementations import materialize, small_batches
from headrace.spark.materialized import Materialized, Nothing
from headrace.spark.session import SMALL_BATCH_ROWS

pytestmark = pytest.mark.spark

MANY = SMALL_BATCH_ROWS + 1000


@pytest.fixture
def session(spark: SparkSession) -> SparkSession:
    made = spark.newSession()
    made.conf.set("spark.sql.shuffle.partitions", "2")
    return made


def by_key(session: SparkSession, spread: str = "key") -> Materialized:
    """Many rows, in two partitions by what `spread` says; the columns have other names for who ran the plan."""
    rows = session.range(MANY).select((F.col("id") % 100).alias("key"), F.col("id").alias("number"))
    placed = rows.repartition(2, F.expr(spread)).sortWithinPartitions(F.expr(spread), "number")
    return materialize(placed.select(F.col("key").alias("key"), F.col("number").alias("number")))


def planned(frame: DataFrame) -> str:
    return str(frame._jdf.queryExecution().executedPlan().toString())


def test_rows_that_lie_by_their_key_are_not_sent_around_again(session: SparkSession) -> None:
    rows = by_key(session).frame
    counted = rows.join(rows.groupBy("key").count(), "key")
    assert "hashpartitioning" not in planned(counted)
    assert counted.where("count = 210").count() == MANY


def test_rows_in_order_are_not_sorted_again(session: SparkSession) -> None:
    rows = by_key(session).frame
    numbered = rows.selectExpr("key", "row_number() over (partition by key order by number) as place")
    assert "Sort" not in planned(numbered)
    assert numbered.where("place = 1").count() == 100


def test_rows_that_lie_by_something_else_are_sent_around(session: SparkSession) -> None:
    rows = by_key(session, "key % 7").frame
    counted = rows.join(rows.groupBy("key").count(), "key")
    assert "hashpartitioning" in planned(counted)
    assert counted.where("count = 210").count() == MANY


def test_large_batch_is_planned_without_what_has_no_rows(session: SparkSession) -> None:
    batches = small_batches(session)
    batches.begin(0, MANY)
    rows, none = by_key(session).frame, batches.nothing("none", session.range(1).toDF("key").schema).frame
    joined = rows.join(none.withColumn("other", F.lit(1)), "key", "left")
    assert "Join" not in planned(joined)
    assert joined.where("other is null").count() == MANY


def test_rows_of_a_large_batch_that_are_none_are_known_to_be_none(session: SparkSession) -> None:
    batches = small_batches(session)
    batches.begin(0, MANY)
    found = batches.compute("none", lambda: session.range(5).where("id > rand() + 5"))
    assert (type(found), found.count, found.frame.columns) == (Nothing, 0, ["id"])
    found.release()
    assert found.frame.collect() == []
