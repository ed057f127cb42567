"""An upsert that another query looks up: as of each version the rows are those of its log, however it gets there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from headrace.spark.implementations import small_batches
from headrace.spark.session import child
from headrace.store.maintenance.passes import Maintenance, Policy
from headrace.tables import lookup
from headrace.tables.commit_cache import CommitCache
from headrace.tables.delta import CommitTable
from headrace.tables.lookup import Lookup
from headrace.tables.state import KeyedState, Stored, changes_schema

pytestmark = pytest.mark.spark

BATCHES, STORED = 12, 5
ARRIVAL = StructType().add("landing_batch", "long").add("offset", "long")
MODEL = StructType().add("id", "string").add("n", "long").add("_arrival", ARRIVAL)
Rows = dict[str, int]


class Dimension:
    """The log of an upsert with random changes, one batch a version; `expected` are its rows after each."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.batches = small_batches(child(spark, "lookup"))
        self.folder = folder
        self.log = CommitTable(self.batches.session, folder / "log", changes_schema(MODEL))
        self.stored = Stored.beside(self.log, folder / "current", "q")
        self.log.create()
        self.stored.table.create()
        self.cache = CommitCache()
        self.expected: list[Rows] = [{}]
        random = Random(7)
        for batch in range(BATCHES):
            self.change(batch, random)

    def change(self, batch: int, random: Random) -> None:
        rows = dict(self.expected[-1])
        changes = []
        for at, key in enumerate(random.sample("abcdefgh", random.choice([0, 1, 3]))):
            gone = random.random() < 0.3
            changes.append((key, 100 * batch + at, (batch, at), gone, batch))
            rows.pop(key, None)
            rows |= {} if gone else {key: 100 * batch + at}
        self.expected.append(rows)
        self.batches.begin(batch, 3)
        made = self.batches.fill("changes", changes, self.log.schema)
        version = self.log.append(made, {"query": "q", "batch": batch, "rows": len(changes)})
        self.cache.put(self.log.path, version, made)

    def store(self) -> None:
        state = KeyedState(self.batches, self.log, ["id"])
        state.load(STORED + 1)
        state.store_current(self.stored, STORED)
        state.drop()

    def lookup(self, stored: bool) -> Lookup:
        return Lookup(self.batches, self.log, self.stored if stored else None, ["id"])


@pytest.fixture(scope="module")
def dimension(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dimension]:
    made = Dimension(spark, tmp_path_factory.mktemp("lookup"))
    made.store()
    yield made


def seen(looked_up: Lookup, version: int, cache: CommitCache) -> Rows:
    rows = looked_up.as_of(version, cache)
    assert rows.columns == MODEL.names
    return {row.id: row.n for row in rows.collect()}


@pytest.mark.parametrize("stored", [True, False])
@pytest.mark.parametrize("cached", [True, False])
@pytest.mark.parametrize(
    "versions",
    [
        [*range(BATCHES + 1)],
        [0, 4, 4, 9, 12, 12],
        [12, 3, 6, 2, 12],
        [-1, 0, 7],
        [7],
    ],
    ids=str,
)
def test_rows_are_those_of_the_version(dimension: Dimension, stored: bool, cached: bool, versions: list[int]) -> None:
    looked_up, cache = dimension.lookup(stored), dimension.cache if cached else CommitCache()
    dimension.batches.begin(99, 3)
    found = [seen(looked_up, version, cache) for version in versions]
    looked_up.drop()
    assert found == [dimension.expected[max(version, 0)] for version in versions]


def test_many_new_commits_are_not_taken_in_one_by_one(dimension: Dimension, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lookup, "_MOST_COMMITS", 2)
    looked_up = dimension.lookup(True)
    dimension.batches.begin(99, 3)
    assert [seen(looked_up, version, dimension.cache) for version in (1, 3, 12)] == [
        dimension.expected[version] for version in (1, 3, 12)
    ]
    looked_up.drop()


def test_rows_are_the_same_in_large_batches(dimension: Dimension) -> None:
    looked_up = dimension.lookup(True)
    dimension.batches.begin(99, 1_000_000)
    assert [seen(looked_up, version, CommitCache()) for version in (2, 8, 12)] == [
        dimension.expected[version] for version in (2, 8, 12)
    ]
    looked_up.drop()


def test_nothing_is_read_where_nothing_has_changed(dimension: Dimension, monkeypatch: pytest.MonkeyPatch) -> None:
    looked_up = dimension.lookup(True)
    dimension.batches.begin(99, 3)
    before = seen(looked_up, BATCHES, CommitCache()), looked_up.leaves
    monkeypatch.setattr(CommitTable, "rows", None)
    monkeypatch.setattr(CommitTable, "snapshot", None)
    after = seen(looked_up, BATCHES, CommitCache()), looked_up.leaves
    assert before[0] == after[0]
    assert [id(frame) for frame in before[1]] == [id(frame) for frame in after[1]]  # plans over them stay valid
    looked_up.drop()


def test_versions_behind_maintenance_are_found(dimension: Dimension) -> None:
    Maintenance(dimension.folder / "log", Policy(keep_history=0.0, kept=2, worth=2)).step()
    looked_up = Lookup(
        dimension.batches,
        CommitTable(dimension.batches.session, dimension.log.path, dimension.log.schema),
        None,
        ["id"],
    )
    dimension.batches.begin(99, 3)
    assert seen(looked_up, 12, CommitCache()) == dimension.expected[12]
    looked_up.drop()
