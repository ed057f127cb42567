"""Rows cached for the next reader: the newest commits of each table, as long as they are few."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from headrace.spark.implementations import materialize, small_batches
from headrace.spark.materialized import Materialized
from headrace.spark.session import SMALL_BATCH_ROWS
from headrace.spark.small_batches import SmallBatches
from headrace.store.commits import Commit
from headrace.tables.commit_cache import CommitCache, SharedRows
from headrace.tables.delta import CommitTable

pytestmark = pytest.mark.spark

SCHEMA = StructType().add("id", "string", nullable=False)


@pytest.fixture
def batches(spark: SparkSession) -> SmallBatches:
    return small_batches(spark.newSession())


@pytest.fixture
def table(spark: SparkSession) -> CommitTable:
    return CommitTable(spark, Path("table"), SCHEMA)


def commits(*versions: int) -> list[Commit]:
    return [Commit(version, files=(f"{version}.parquet",)) for version in versions]


def rows(batches: SmallBatches, *ids: str, buffer: str = "written") -> Materialized:
    frame = batches.session.createDataFrame([(each,) for each in ids], "id string")
    return batches.put(buffer, materialize(frame.coalesce(1)))


def taken(batches: SmallBatches, commit_cache: CommitCache, table: CommitTable, *versions: int) -> list[str] | None:
    """What a reader with a session of its own finds."""
    reader = small_batches(batches.session.newSession())
    reader.begin(0, 1)
    found = commit_cache.take(reader, "read", table, commits(*versions))
    if found is None:
        return None
    names = [row.id for row in found.frame.collect()]
    assert found.count == len(names)
    return names


def test_newest_commits_are_handed_over_in_order(batches: SmallBatches, table: CommitTable) -> None:
    commit_cache = CommitCache()
    for version, ids in enumerate((("a", "b"), (), ("c",)), 7):
        commit_cache.put(table.path, version, rows(batches, *ids))  # the writer fills its buffer again
    assert taken(batches, commit_cache, table, 7) == ["a", "b"]
    assert taken(batches, commit_cache, table, 7, 8, 9) == ["a", "b", "c"]
    assert taken(batches, commit_cache, table, 9, 7) == ["c", "a", "b"]


def test_what_is_not_all_there_is_read_from_files(
    batches: SmallBatches, table: CommitTable, spark: SparkSession
) -> None:
    commit_cache = CommitCache()
    commit_cache.put(table.path, 7, rows(batches, "a"))
    assert taken(batches, commit_cache, table, 6) is None
    assert taken(batches, commit_cache, table, 6, 7) is None
    assert taken(batches, commit_cache, CommitTable(spark, Path("other"), SCHEMA), 7) is None


def test_commits_without_files_do_not_matter(batches: SmallBatches, table: CommitTable) -> None:
    commit_cache = CommitCache()
    commit_cache.put(table.path, 7, rows(batches, "a"))
    found = commit_cache.take(batches, "read", table, [Commit(6), *commits(7)])
    assert found is not None and found.count == 1
    assert commit_cache.take(batches, "read", table, [Commit(6)]) is None


def test_rows_of_other_columns_are_read_from_files(batches: SmallBatches, spark: SparkSession) -> None:
    commit_cache = CommitCache()
    wider = CommitTable(spark, Path("table"), StructType().add("id", "string").add("more", "string"))
    commit_cache.put(wider.path, 7, rows(batches, "a"))
    assert taken(batches, commit_cache, wider, 7) is None


def test_oldest_go_when_there_are_many(batches: SmallBatches, table: CommitTable) -> None:
    commit_cache = CommitCache()
    half = batches.session.range(SMALL_BATCH_ROWS // 2).selectExpr("cast(id as string) as id")
    for version in range(3):
        commit_cache.put(table.path, version, batches.put("written", materialize(half.coalesce(1))))
    assert commit_cache.take(batches, "read", table, commits(0)) is None
    found = commit_cache.take(batches, "read", table, commits(1, 2))
    assert found is not None and found.count == SMALL_BATCH_ROWS


def test_large_commit_is_not_cached(batches: SmallBatches, table: CommitTable) -> None:
    commit_cache = CommitCache()
    commit_cache.put(table.path, 1, rows(batches, "a"))
    commit_cache.put(table.path, 2, materialize(batches.session.range(SMALL_BATCH_ROWS + 1)))
    assert taken(batches, commit_cache, table, 1, 2) is None and taken(batches, commit_cache, table, 1) == ["a"]


def shared(batches: SmallBatches) -> SharedRows:
    rows = materialize(batches.session.range(SMALL_BATCH_ROWS + 1).selectExpr("cast(id as string) as id", "id as more"))
    return SharedRows.of(rows, ("id",))


def is_in_memory(rows: SharedRows) -> bool:
    return bool(rows.rows.frame._jdf.queryExecution().logical().rdd().getStorageLevel().useMemory())


def test_large_commit_made_to_be_shared_is_cached(batches: SmallBatches, table: CommitTable, tmp_path: Path) -> None:
    commit_cache, large = CommitCache(), shared(batches)
    large.write(tmp_path / "files")
    commit_cache.put(table.path, 2, large)
    large.release()
    reader = batches.session.newSession()
    found = commit_cache.take_large(reader, table, [Commit(1), *commits(2)])
    assert found is not None and found.frame.sparkSession is reader and found.frame.columns == ["id", "more"]
    assert found.frame.count() == SMALL_BATCH_ROWS + 1
    assert reader.read.parquet(str(tmp_path / "files")).columns == ["id"]
    assert (
        commit_cache.take_large(reader, table, commits(1, 2)) is None
        and commit_cache.take_large(reader, table, []) is None
    )


def test_memory_of_shared_rows_is_given_back_by_the_last_who_holds_them(
    batches: SmallBatches, table: CommitTable
) -> None:
    commit_cache, large = CommitCache(), shared(batches)
    commit_cache.put(table.path, 2, large)
    found = commit_cache.take_large(batches.session, table, commits(2))
    assert found is not None
    large.release()
    commit_cache.put(table.path, 3, rows(batches, "a"))
    assert commit_cache.take_large(batches.session, table, commits(2)) is not None  # the third holder, and the fourth
    commit_cache.put(table.path, 4, rows(batches, "a"))
    assert commit_cache.take_large(batches.session, table, commits(2)) is None
    found.release()
    assert is_in_memory(large)
    found.release()
    assert not is_in_memory(large)
    assert large.held_in(batches.session) is None


def test_next_large_commit_takes_the_place_of_the_last(batches: SmallBatches, table: CommitTable) -> None:
    commit_cache, former, large = CommitCache(), shared(batches), shared(batches)
    for version, rows_of in ((2, former), (3, large)):
        commit_cache.put(table.path, version, rows_of)
        rows_of.release()
    assert not is_in_memory(former) and is_in_memory(large)
