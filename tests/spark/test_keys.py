"""The index of closed keys: many keys, of which a batch looks up a few."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.functions import lit
from pyspark.sql.types import StructType

from headrace.spark.implementations import materialize, small_batches
from headrace.spark.materialized import Materialized
from headrace.spark.session import child
from headrace.tables.closed_keys import index as closed_keys
from headrace.tables.closed_keys.index import KeyIndex
from headrace.tables.delta import CommitTable
from tests.long import one_of

pytestmark = pytest.mark.spark

CLOSED = 5_000
SCHEMA = StructType().add("id", "long").add("_batch", "long")


class Closed:
    """A table whose batches close the even numbers of a range each."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.folder = folder
        self.batches = small_batches(child(spark, "keys"))
        self.table = CommitTable(self.batches.session, folder / "t", SCHEMA)
        self.table.create()
        self.count = 0

    def append(self, first: int, end: int) -> Materialized:
        rows = self.batches.session.range(first, end, 2).withColumn("_batch", lit(self.count).cast("long"))
        added = materialize(rows.coalesce(1))
        self.table.append(added, {"query": "q", "batch": self.count, "rows": added.count})
        self.count += 1
        return added

    def index(self, before: int) -> KeyIndex:
        """A new one, as a start makes it."""
        made = KeyIndex(self.batches, "keys", ["id"])
        made.load(self.table, before)
        return made

    def holds(self, index: KeyIndex, *asked: int) -> list[int]:
        """Those of some numbers that are closed."""
        rows = materialize(self.batches.session.createDataFrame([(each,) for each in asked], "id bigint"))
        return sorted({*asked} - {row.id for row in index.unclosed(rows).frame.collect()})


@pytest.fixture(params=[20_000, 100], ids=["recent", "stored"])
def index(
    request: pytest.FixtureRequest, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[KeyIndex]:
    """An index of the even numbers below ten thousand: half of them loaded, the others added."""
    monkeypatch.setattr(closed_keys, "_RECENT_KEYS", request.param)
    closed = Closed(spark, tmp_path)
    closed.append(0, CLOSED)
    made = closed.index(1)
    made.add(closed.append(CLOSED, 2 * CLOSED), 1)
    yield made
    made.drop()


@pytest.mark.parametrize(
    "asked", one_of(2, [[0], [1], [1, 3, 9_999], [0, 2, 4_998, 5_000, 9_998], [7, 8, 20_000, 6_000]])
)
def test_few_keys_are_looked_up(asked: list[int], index: KeyIndex, spark: SparkSession) -> None:
    rows = materialize(spark.createDataFrame([(each,) for each in asked], "id bigint"))
    left = [row.id for row in index.unclosed(rows).frame.collect()]
    assert sorted(left) == sorted(each for each in asked if each % 2 or each >= 2 * CLOSED)


def test_many_closed_keys_among_few_are_known(index: KeyIndex, spark: SparkSession) -> None:
    left = index.unclosed(materialize(spark.range(1_000))).frame
    assert sorted(row.id for row in left.collect()) == [*range(1, 1_000, 2)]


def test_many_keys_are_joined(index: KeyIndex, spark: SparkSession) -> None:
    left = index.unclosed(materialize(spark.range(2 * CLOSED))).frame
    assert sorted(row.id for row in left.collect()) == [*range(1, 2 * CLOSED, 2)]


def test_no_closed_key_gets_through_one_by_one(index: KeyIndex, spark: SparkSession) -> None:
    for start in range(0, 2 * CLOSED, 1_000):
        rows = materialize(spark.range(start, start + 200, 2))
        assert index.unclosed(rows).frame.isEmpty()


@pytest.fixture
def closed(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Closed:
    """Three batches; the keys of the first two are stored, those of the third wait."""
    monkeypatch.setattr(closed_keys, "_RECENT_KEYS", 150)
    made = Closed(spark, tmp_path)
    index = made.index(0)
    for first in (0, 200, 400):
        index.add(made.append(first, first + 200), made.count - 1)
    return made


def manifest(closed: Closed) -> Path:
    (found,) = (closed.folder / "t" / "_keys").glob("*/manifest.json")
    return found


def test_start_reads_the_batches_since_alone(closed: Closed, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, int]] = []
    between = CommitTable.between

    def noted(self: CommitTable, session: SparkSession, after: int, before: int) -> object:
        asked.append((after, before))
        return between(self, session, after, before)

    def whole(*_: object) -> None:
        pytest.fail("the whole table is read")

    monkeypatch.setattr(CommitTable, "between", noted)
    monkeypatch.setattr(CommitTable, "before", whole)
    index = closed.index(3)
    assert asked == [(1, 3)]
    assert closed.holds(index, 0, 199, 200, 398, 400, 598, 600) == [0, 200, 398, 400, 598]


def lose_the_manifest(closed: Closed) -> None:
    manifest(closed).unlink()


def tear_the_manifest(closed: Closed) -> None:
    manifest(closed).write_text(manifest(closed).read_text()[:-9])


def lose_the_keys(closed: Closed) -> None:
    for file in manifest(closed).parent.glob("*.parquet"):
        file.unlink()


def tear_the_keys(closed: Closed) -> None:
    for file in manifest(closed).parent.glob("*.parquet"):
        file.write_bytes(file.read_bytes()[:-9])


def tear_the_filters(closed: Closed) -> None:
    for file in manifest(closed).parent.glob("*.bloom"):
        file.write_bytes(file.read_bytes()[:-9])


def take_that_of_another_table(closed: Closed) -> None:
    text, identity = manifest(closed).read_text(), closed.table.id()
    assert identity in text
    manifest(closed).write_text(text.replace(identity, "another"))


@pytest.mark.parametrize(
    "fault",
    [
        lose_the_manifest,
        tear_the_manifest,
        lose_the_keys,
        tear_the_keys,
        tear_the_filters,
        take_that_of_another_table,
    ],
)
def test_what_cannot_be_used_is_made_again(closed: Closed, fault: Callable[[Closed], None]) -> None:
    fault(closed)
    assert closed.holds(closed.index(3), 0, 199, 398, 400, 598, 600) == [0, 398, 400, 598]
    assert len([*manifest(closed).parent.glob("*.parquet")]) == 1


def test_keys_of_later_batches_are_not_closed_yet(closed: Closed) -> None:
    assert closed.holds(closed.index(1), 0, 198, 200, 398, 400) == [0, 198]
    assert closed.holds(closed.index(0), 0, 200) == []


def test_keys_that_wait_long_are_stored(closed: Closed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(closed_keys, "_RECENT_BATCHES", 2)
    index = closed.index(3)
    index.add(closed.append(600, 610), 3)
    monkeypatch.setattr(CommitTable, "before", None)
    assert '"before": 4' in manifest(closed).read_text()
    assert closed.holds(closed.index(4), 598, 608, 610) == [598, 608]
