"""The changes that an upsert derives from a batch's rows: which keys end, and which changes conflict."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from headrace.project.model import Model
from headrace.queries.outputs import UpsertOutput, commit, output_for
from headrace.spark.columns import columns_of
from headrace.spark.implementations import small_batches
from headrace.spark.materialized import Materialized
from headrace.spark.session import SMALL_BATCH_ROWS, child
from headrace.store.layout import Layout
from headrace.tables.closed_keys import index as closed_keys
from headrace.tables.delta import CommitTable

pytestmark = pytest.mark.spark

COLUMNS = {"id": "string", "n": "bigint", "_arrival": "struct<landing_batch: bigint, offset: bigint>"}
SIZES = pytest.mark.parametrize("size", [1, SMALL_BATCH_ROWS + 1], ids=["small", "large"])


Change = tuple[str, int, int]
"""An id, a number and an offset."""


class Upsert:
    """The output of an upsert model, opened before a batch."""

    def __init__(self, spark: SparkSession, folder: Path, before: int = 0, **header: str) -> None:
        kind = ("things.sql", "", "", "upsert", "micro_batch", None, ())
        model = Model("silver", "things", "d", *kind, unique_key=("id",), **header)
        self.batches = small_batches(child(spark, "outputs"))
        made = output_for(self.batches, Layout(folder), model, columns_of(COLUMNS))
        assert isinstance(made, UpsertOutput)
        self.output = made
        self.output.create()
        self.batches.begin(before, 1)
        self.output.load(before)

    def added(self, batch: int, size: int, *changes: Change) -> Materialized:
        """What a batch that is planned for some size adds."""
        self.batches.begin(batch, size)
        rows = [(key, n, (batch, offset)) for key, n, offset in changes]
        frame = self.batches.session.createDataFrame(rows, columns_of(COLUMNS))
        shaped = self.batches.with_batch(self.output.shaped(frame))
        return self.output.narrowed(self.batches.compute("silver.things", lambda: shaped, frame))

    def run(self, batch: int, *changes: Change) -> None:
        rows = self.added(batch, 1, *changes)
        commit(self.output, rows, {"query": "things", "batch": batch})
        self.output.settle(rows)
        rows.release()

    @property
    def rows(self) -> dict[str, int]:
        return {row.id: row.n for row in self.output.before().collect()}


def added(spark: SparkSession, folder: Path, size: int, *changes: Change, **header: str) -> Materialized:
    """What a batch that is planned for some size adds to an empty upsert."""
    return Upsert(spark, folder, **header).added(0, size, *changes)


def test_restart_goes_on_from_what_is_stored(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(closed_keys, "_RECENT_BATCHES", 1)
    former = Upsert(spark, tmp_path, close_when="n = 2")
    former.run(0, ("a", 1, 0), ("b", 1, 1))
    former.run(1, ("a", 2, 0))
    former.output.store_current(1)
    former.run(2, ("c", 1, 0))
    monkeypatch.setattr(CommitTable, "before", None)  # the whole log
    restarted = Upsert(spark, tmp_path, 3, close_when="n = 2")
    assert restarted.rows == {"b": 1, "c": 1}
    restarted.run(3, ("a", 5, 0), ("b", 5, 1))
    assert restarted.rows == {"b": 5, "c": 1}


@SIZES
def test_two_changes_of_a_key_at_one_moment_are_refused(spark: SparkSession, tmp_path: Path, size: int) -> None:
    with pytest.raises(PySparkException, match=r"things[.]sql: two rows of one key with the same _arrival: "):
        added(spark, tmp_path, size, ("a", 1, 1), ("b", 1, 1), ("a", 2, 1))


@SIZES
def test_changes_of_other_keys_and_moments_are_taken(spark: SparkSession, tmp_path: Path, size: int) -> None:
    found = added(spark, tmp_path, size, ("a", 1, 1), ("b", 1, 1), ("a", 3, 2), delete_when="n = 3")
    rows = {(row.id, row.n, row["_deleted"]) for row in found.frame.collect()}
    assert rows == {("a", 1, False), ("b", 1, False), ("a", 3, True)} and found.count == 3


@SIZES
def test_nothing_comes_after_a_change_that_closes(spark: SparkSession, tmp_path: Path, size: int) -> None:
    found = added(spark, tmp_path, size, ("a", 3, 3), ("a", 1, 1), ("a", 2, 2), close_when="n = 2")
    rows = {(row.n, row["_deleted"]) for row in found.frame.collect()}
    assert rows == {(1, False), (2, True)}


@SIZES
def test_clash_in_a_key_that_closes_is_refused(spark: SparkSession, tmp_path: Path, size: int) -> None:
    with pytest.raises(PySparkException, match="two rows of one key"):
        added(spark, tmp_path, size, ("a", 1, 1), ("a", 2, 1), close_when="n = 9")
