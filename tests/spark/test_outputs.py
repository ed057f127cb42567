"""The changes that an upsert derives from a batch's rows: which keys end, and which changes conflict."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from headrace.project.model import Model
from headrace.queries.outputs import output_for
from headrace.spark.columns import columns_of
from headrace.spark.implementations import small_batches
from headrace.spark.materialized import Materialized
from headrace.spark.session import SMALL_BATCH_ROWS, child
from headrace.store.layout import Layout

pytestmark = pytest.mark.spark

COLUMNS = {"id": "string", "n": "bigint", "_arrival": "struct<landing_batch: bigint, offset: bigint>"}
SIZES = pytest.mark.parametrize("size", [1, SMALL_BATCH_ROWS + 1], ids=["small", "large"])


Change = tuple[str, int, int]
"""An id, a number and an offset."""


def added(spark: SparkSession, folder: Path, size: int, *changes: Change, **header: str) -> Materialized:
    """What a batch that is planned for some size adds to an empty upsert."""
    batches = small_batches(child(spark, "outputs"))
    batches.begin(0, size)
    model = Model(
        "silver", "things", "d", "things.sql", "", "", "upsert", "micro_batch", None, (), unique_key=("id",), **header
    )
    output = output_for(batches, Layout(folder), model, columns_of(COLUMNS))
    output.create()
    output.load(0)
    frame = batches.session.createDataFrame([(key, n, (0, offset)) for key, n, offset in changes], columns_of(COLUMNS))
    made = batches.compute(model.table, lambda: batches.with_batch(output.shaped(frame)), frame)
    return output.narrowed(made)


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
