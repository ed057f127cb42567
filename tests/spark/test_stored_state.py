"""The state of an upsert at a start: from its stored rows and the changes since, and the same as from the whole log."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from headrace.spark.implementations import small_batches
from headrace.spark.session import child
from headrace.store import trees
from headrace.store.commits import Commit
from headrace.store.maintenance.passes import Maintenance, Policy
from headrace.store.maintenance.superseded import ChangeKeys
from headrace.tables import commit_log, delta
from headrace.tables.delta import CommitTable
from headrace.tables.state import KeyedState, Stored, changes_schema

pytestmark = pytest.mark.spark

STORED, BATCHES = 5, 9
ARRIVAL = StructType().add("landing_batch", "long").add("offset", "long")
MODEL = StructType().add("id", "string").add("n", "long").add("_arrival", ARRIVAL)


class Upsert:
    """A change log, and the rows that were stored beside it after a batch.

    Each batch changes a key of its own and a common one, and deletes the one of two batches before.
    """

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.batches = small_batches(child(spark, "stored"))
        self.folder = folder
        self.log = self.opened(MODEL)
        self.stored = Stored.beside(self.log, folder / "current", "q")
        self.log.create()
        self.stored.table.create()
        self.read: list[int] = []

    def opened(self, model: StructType) -> CommitTable:
        return CommitTable(self.batches.session, self.folder / "log", changes_schema(model))

    def run(self, first: int, last: int) -> None:
        for batch in range(first, last + 1):
            rows = [(f"k{batch}", batch, False), ("common", batch, False), (f"k{batch - 2}", batch, True)]
            changes = [(key, n, (batch, at), gone, batch) for at, (key, n, gone) in enumerate(rows)]
            self.batches.begin(batch, 3)
            made = self.batches.fill("changes", changes, self.log.schema)
            self.log.append(made, {"query": "q", "batch": batch, "rows": 3})

    def store(self, keys: tuple[str, ...] = ("id",)) -> None:
        state = KeyedState(self.batches, self.log, keys)
        state.load(STORED + 1)
        state.store_current(self.stored, STORED)
        state.drop()

    def state(self, before: int, stored: Stored | None, log: CommitTable | None = None) -> set[tuple[object, ...]]:
        """The rows before a batch."""
        state = KeyedState(self.batches, log or self.log, ["id"])
        state.load(before, stored)
        found = {tuple(row) for row in state.read().collect()}
        state.drop()
        return found


@pytest.fixture
def upsert(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Upsert:
    made = Upsert(spark, tmp_path)
    made.run(0, STORED)
    made.store()
    made.run(STORED + 1, BATCHES)
    rows: Callable[..., object] = CommitTable.rows

    def noted(self: CommitTable, session: SparkSession, *commits: Commit) -> object:
        if self is made.log:
            made.read += [commit.batch for commit in commits]
        return rows(self, session, *commits)

    monkeypatch.setattr(CommitTable, "rows", noted)
    return made


def test_state_is_that_of_the_whole_log(upsert: Upsert) -> None:
    for before in (1, STORED, STORED + 1, STORED + 2, BATCHES + 1):
        whole = upsert.state(before, None)
        assert {row[1] for row in whole} == {before - 1, *range(max(before - 2, 0), before)}
        upsert.read = []
        assert upsert.state(before, upsert.stored) == whole
        assert upsert.read == [*range(STORED + 1 if before > STORED else 0, before)]


def test_many_changes_since_are_read_at_once(upsert: Upsert, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = upsert.state(BATCHES + 1, None)
    monkeypatch.setattr(delta, "CHECKPOINT_INTERVAL", 2)
    upsert.read = []
    assert upsert.state(BATCHES + 1, upsert.stored) == whole
    assert upsert.read == []


def test_maintained_tables_give_the_same(upsert: Upsert, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = upsert.state(BATCHES + 1, None)
    monkeypatch.setattr(commit_log, "_UNTOUCHED", 0)
    for table in (upsert.stored.table, upsert.log):
        Maintenance(table.path, Policy(keep_history=0.0, kept=1, worth=1)).step()
    upsert.read = []
    assert upsert.state(BATCHES + 1, upsert.stored, upsert.log) == whole
    assert min(upsert.read) > STORED


@pytest.mark.parametrize("is_stored", [True, False])
def test_state_is_the_same_once_replaced_changes_have_left(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_stored: bool
) -> None:
    upsert, now = Upsert(spark, tmp_path), [time.time()]
    monkeypatch.setattr(commit_log, "_UNTOUCHED", 0)
    monkeypatch.setattr(time, "time", lambda: now[0])
    monkeypatch.setattr(trees.Instant, "now", lambda: trees.Instant(now[0], now[0]))
    policy = Policy(keep_history=0.0, keep=3600.0, keys=ChangeKeys(("id",)), kept=1, worth=1)
    work = Maintenance(upsert.log.path, policy)
    for batch in range(BATCHES + 1):
        upsert.run(batch, batch)
        if batch == STORED:
            upsert.store()
        work.step(unread=STORED + 2 if is_stored else None)  # behind the stored rows
        now[0] += 3600
    left = Counter(row["_batch"] for row in upsert.log.snapshot(upsert.batches.session).select("_batch").collect())
    assert left[0] == 0 and (left[STORED + 1] == 3) is is_stored
    rows = {row[:2] for row in upsert.state(BATCHES + 1, upsert.stored if is_stored else None)}
    assert rows == {("common", BATCHES), (f"k{BATCHES}", BATCHES), (f"k{BATCHES - 1}", BATCHES - 1)}


def test_column_that_is_new_is_null_in_stored_rows(upsert: Upsert) -> None:
    wider = upsert.opened(StructType([*MODEL]).add("more", "string"))
    stored = Stored.beside(wider, upsert.folder / "current", "q")
    for table in (wider, stored.table):
        table.create()
    upsert.read = []
    assert upsert.state(BATCHES + 1, stored, wider) == upsert.state(BATCHES + 1, None, wider)


def reset_log(upsert: Upsert) -> None:
    trees.remove(upsert.folder / "log")
    upsert.log = upsert.opened(MODEL)
    upsert.log.create()
    upsert.run(STORED + 1, BATCHES)


def key_by_another(upsert: Upsert) -> None:
    trees.remove(upsert.folder / "current")
    upsert.stored = Stored.beside(upsert.log, upsert.folder / "current", "q")
    upsert.stored.table.create()
    upsert.store(("n",))


def lose_a_file(upsert: Upsert) -> None:
    newest = upsert.stored.newest()
    assert newest
    for name in newest.files:
        (upsert.stored.table.path / name).unlink()


@pytest.mark.parametrize("change", [reset_log, key_by_another, lose_a_file])
def test_stored_rows_of_something_else_are_not_taken(upsert: Upsert, change: Callable[[Upsert], None]) -> None:
    change(upsert)
    assert upsert.state(STORED + 2, upsert.stored) == upsert.state(STORED + 2, None)
