"""Rows kept for the next reader: the newest commits of each table, as long as they are few."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from headrace.spark.jvm import each
from headrace.spark.kept import Plans
from headrace.spark.materialized import Materialized, materialize
from headrace.spark.session import SMALL_BATCH_ROWS
from headrace.tables.delta import Commit, CommitTable
from headrace.tables.shelf import Shared, Shelf

pytestmark = pytest.mark.spark

SCHEMA = StructType().add("id", "string", nullable=False)


@pytest.fixture
def plans(spark: SparkSession) -> Plans:
    return Plans(spark.newSession())


@pytest.fixture
def table(spark: SparkSession) -> CommitTable:
    return CommitTable(spark, Path("table"), SCHEMA)


def commits(*versions: int) -> list[Commit]:
    return [Commit(version, files=(f"{version}.parquet",)) for version in versions]


def rows(plans: Plans, *ids: str, slot: str = "written") -> Materialized:
    frame = plans.session.createDataFrame([(each,) for each in ids], "id string")
    return plans.put(slot, materialize(frame.coalesce(1)))


def taken(plans: Plans, shelf: Shelf, table: CommitTable, *versions: int) -> list[str] | None:
    """What a reader with a session of its own finds."""
    found = shelf.take(plans.session, table, commits(*versions))
    if found is None:
        return None
    filled = Plans(plans.session.newSession()).fill("read", found, SCHEMA)
    assert filled.count == len(found)
    return [row.id for row in filled.frame.collect()]


def test_newest_commits_are_handed_over_in_order(plans: Plans, table: CommitTable) -> None:
    shelf = Shelf()
    for version, ids in enumerate((("a", "b"), (), ("c",)), 7):
        shelf.put(table.path, version, rows(plans, *ids))  # the writer fills its slot anew
    assert taken(plans, shelf, table, 7) == ["a", "b"]
    assert taken(plans, shelf, table, 7, 8, 9) == ["a", "b", "c"]
    assert taken(plans, shelf, table, 9, 7) == ["c", "a", "b"]


def test_what_is_not_all_there_is_read_from_files(plans: Plans, table: CommitTable, spark: SparkSession) -> None:
    shelf = Shelf()
    shelf.put(table.path, 7, rows(plans, "a"))
    assert taken(plans, shelf, table, 6) is None
    assert taken(plans, shelf, table, 6, 7) is None
    assert taken(plans, shelf, CommitTable(spark, Path("other"), SCHEMA), 7) is None


def test_commits_without_files_do_not_matter(plans: Plans, table: CommitTable) -> None:
    shelf = Shelf()
    shelf.put(table.path, 7, rows(plans, "a"))
    found = shelf.take(plans.session, table, [Commit(6), *commits(7)])
    assert found is not None and len(found) == 1
    assert shelf.take(plans.session, table, [Commit(6)]) is None


def test_rows_of_other_columns_are_read_from_files(plans: Plans, spark: SparkSession) -> None:
    shelf, wider = Shelf(), CommitTable(spark, Path("table"), StructType().add("id", "string").add("more", "string"))
    shelf.put(wider.path, 7, rows(plans, "a"))
    assert taken(plans, shelf, wider, 7) is None


def test_oldest_go_when_there_are_many(plans: Plans, table: CommitTable) -> None:
    shelf, half = Shelf(), plans.session.range(SMALL_BATCH_ROWS // 2).selectExpr("cast(id as string) as id")
    for version in range(3):
        shelf.put(table.path, version, plans.put("written", materialize(half.coalesce(1))))
    assert shelf.take(plans.session, table, commits(0)) is None
    found = shelf.take(plans.session, table, commits(1, 2))
    assert found is not None and len(found) == SMALL_BATCH_ROWS


def test_large_commit_is_not_kept(plans: Plans, table: CommitTable) -> None:
    shelf = Shelf()
    shelf.put(table.path, 1, rows(plans, "a"))
    shelf.put(table.path, 2, materialize(plans.session.range(SMALL_BATCH_ROWS + 1)))
    assert taken(plans, shelf, table, 1, 2) is None and taken(plans, shelf, table, 1) == ["a"]


def shared(plans: Plans) -> Shared:
    rows = materialize(plans.session.range(SMALL_BATCH_ROWS + 1).selectExpr("cast(id as string) as id", "id as more"))
    return Shared(rows.frame, rows.count, ("id",))


def is_in_memory(rows: Shared) -> bool:
    (packed,) = each(rows.frame._jdf.queryExecution().logical().rdd().dependencies())
    return bool(packed.rdd().getStorageLevel().useMemory())


def test_large_commit_made_to_be_shared_is_kept(plans: Plans, table: CommitTable, tmp_path: Path) -> None:
    shelf, large = Shelf(), shared(plans)
    large.write(tmp_path / "files")
    shelf.put(table.path, 2, large)
    large.release()
    reader = plans.session.newSession()
    found = shelf.take_large(reader, table, [Commit(1), *commits(2)])
    assert found is not None and found.frame.sparkSession is reader and found.frame.columns == ["id", "more"]
    assert found.frame.count() == SMALL_BATCH_ROWS + 1
    assert reader.read.parquet(str(tmp_path / "files")).columns == ["id"]
    assert shelf.take_large(reader, table, commits(1, 2)) is None and shelf.take_large(reader, table, []) is None


def test_memory_of_shared_rows_is_given_back_by_the_last_who_holds_them(plans: Plans, table: CommitTable) -> None:
    shelf, large = Shelf(), shared(plans)
    shelf.put(table.path, 2, large)
    found = shelf.take_large(plans.session, table, commits(2))
    assert found is not None
    large.release()
    shelf.put(table.path, 3, rows(plans, "a"))
    assert shelf.take_large(plans.session, table, commits(2)) is not None  # the third holder, and the fourth
    shelf.put(table.path, 4, rows(plans, "a"))
    assert shelf.take_large(plans.session, table, commits(2)) is None
    found.release()
    assert is_in_memory(large)
    found.release()
    assert not is_in_memory(large)
    assert large.held_in(plans.session) is None


def test_next_large_commit_takes_the_place_of_the_last(plans: Plans, table: CommitTable) -> None:
    shelf, former, large = Shelf(), shared(plans), shared(plans)
    for version, rows_of in ((2, former), (3, large)):
        shelf.put(table.path, version, rows_of)
        rows_of.release()
    assert not is_in_memory(former) and is_in_memory(large)
