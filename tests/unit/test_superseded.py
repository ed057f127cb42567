"""What later changes have replaced leaves a change log, and what the log says of the current rows stays the same."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pytest
from deltalake import DeltaTable, Schema
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.errors import HeadraceError
from headrace.store import parquet
from headrace.store.commits import newest_version
from headrace.store.delta_tables import create_table
from headrace.store.maintenance import compaction, retention, retiring
from headrace.store.maintenance.passes import Maintenance, Policy
from headrace.store.maintenance.superseded import ChangeKeys, Step, next_step
from headrace.store.removal.data_files import ActiveFile
from headrace.store.trees import Instant
from tests.unit.synthetic_table import SyntheticTable

DAY = 86_400.0
KEEP = 10 * DAY
ARRIVAL = pa.struct([("landing_batch", pa.int64()), ("topic", pa.string()), ("offset", pa.int64())])
COLUMNS = pa.schema(
    [
        *(("id", pa.string()), ("number", pa.int64()), ("_arrival", ARRIVAL)),
        *(("_deleted", pa.bool_()), ("_batch", pa.int64())),
    ]
)
Change = tuple[str | None, bool]
"""A key, and whether it is deleted."""


@dataclass
class ChangeLog:
    """A change log, its maintenance, and a clock: a day has one batch of changes, and then maintenance looks at it."""

    folder: Path
    closes: bool = False
    now: float = 1_800_000_000.0
    changes: list[tuple[int, str | None, int, bool]] = field(default_factory=list)

    def __post_init__(self) -> None:
        create_table(self.folder, Schema.from_arrow(COLUMNS), {"delta.appendOnly": "true"})
        self.table = SyntheticTable(self.folder)
        keys = ChangeKeys(("id",), keeps_deleted=self.closes)
        self.work = Maintenance(self.folder, Policy(0.0, KEEP, keys, kept=2, worth=3))

    def pass_day(self, changes: list[Change], unread: int | None = None) -> None:
        """Commit changes, the last one first in its file, as their order is that of their arrival."""
        batch, self.table.batches = self.table.batches, self.table.batches + 1
        rows = [
            {
                **{"id": key, "number": len(self.changes) + place, "_deleted": deleted, "_batch": batch},
                "_arrival": {"landing_batch": batch, "topic": "é", "offset": place},
            }
            for place, (key, deleted) in enumerate(changes)
        ]
        self.changes += [(batch, row["id"], row["number"], row["_deleted"]) for row in rows]  # type: ignore[misc]
        if rows:
            file = parquet.write(
                self.folder, f"batch-{batch}/part-0.parquet", pa.Table.from_pylist(rows[::-1], COLUMNS)
            )
            self.table.commit([file.to_add()], {"query": "q", "batch": batch, "rows": len(rows)})
        self.work.step(None, None, unread)
        self.now += DAY

    @property
    def stored(self) -> list[tuple[int, str | None, int, bool]]:
        found = DeltaTable(self.folder).to_pyarrow_table(columns=["_batch", "id", "number", "_deleted"]).to_pylist()
        return sorted(((r["_batch"], r["id"], r["number"], r["_deleted"]) for r in found), key=lambda row: row[2])

    def newest_before(self, batch: int) -> dict[str | None, tuple[int, bool]]:
        """The newest change of each key as of a batch, of all that was ever committed: number, and whether deleted."""
        return {key: (number, deleted) for at, key, number, deleted in self.changes if at < batch}


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ChangeLog:
    found = ChangeLog(tmp_path / "t")
    with_clock(found, monkeypatch)
    return found


def with_clock(log: ChangeLog, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(os, "fsync", lambda file: None)
    patch.setattr(time, "time", lambda: log.now)
    patch.setattr(Instant, "now", lambda: Instant(log.now, log.now))


def rows_of(changes: list[tuple[int, str | None, int, bool]]) -> dict[str | None, int]:
    """The current rows by a change log, oldest change first."""
    newest = {key: (number, deleted) for _, key, number, deleted in changes}
    return {key: number for key, (number, deleted) in newest.items() if not deleted}


def test_replaced_changes_leave_after_their_time_and_not_before(log: ChangeLog) -> None:
    for _ in range(30):
        log.pass_day([("same", False)])
    batches = [batch for batch, *_ in log.stored]
    assert batches[-10:] == [*range(20, 30)] and len(batches) <= 13


def test_row_that_never_changes_stays(log: ChangeLog) -> None:
    log.pass_day([("once", False), ("gone", False)])
    for day in range(30):
        log.pass_day([(f"{day % 3}", False), *([("gone", True)] if day == 2 else [])])
    found = {key for _, key, *_ in log.stored}
    assert found == {"once", "0", "1", "2"}


def test_key_that_was_closed_stays_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = ChangeLog(tmp_path / "t", closes=True)
    with_clock(log, monkeypatch)
    log.pass_day([("closed", False)])
    log.pass_day([("closed", True)])
    for _ in range(30):
        log.pass_day([("other", False)])
    assert [row for row in log.stored if row[1] == "closed"] == [(1, "closed", 1, True)]


def test_changes_that_somebody_has_to_read_stay(log: ChangeLog) -> None:
    for _ in range(6):
        log.pass_day([("same", False)])
    unread = newest_version(log.folder)
    for _ in range(25):
        log.pass_day([("same", False)], unread)
    assert {batch for batch, *_ in log.stored} >= {*range(unread - 1, 31)}


def test_log_says_since_when_it_is_whole(log: ChangeLog) -> None:
    for _ in range(30):
        log.pass_day([("same", False)])
    since = retention.kept_since(log.folder)
    assert since is not None and log.now - 13 * DAY <= since.timestamp() <= log.now - 10 * DAY


def test_key_that_cannot_be_compared_is_named() -> None:
    rows = pa.table({"id": pa.array([["a"]]), "_batch": [1], "_deleted": [False]})
    with pytest.raises(HeadraceError, match="key column id is list"):
        ChangeKeys(("id",)).newest(rows)


def test_numbers_are_the_same_key_where_spark_says_so() -> None:
    rows = pa.table({"id": [0.0, -0.0, float("nan"), float("nan"), None, None], "_batch": [1, 2, 3, 4, 5, 6]})
    assert ChangeKeys(("id",)).newest(rows).column("_batch").to_pylist() == [2, 4, 6]


def test_streamed_changes_have_an_order_without_arrival() -> None:
    rows = pa.table({"id": ["a", "a", "b"], "_batch": [2, 1, 1], "_deleted": [None, True, True]})
    keys = ChangeKeys(("id",))
    assert keys.without_deleted(keys.newest(rows)).to_pylist() == [{"id": "a", "_batch": 2, "_deleted": None}]


def files(*spans: tuple[int, int]) -> list[ActiveFile]:
    return [ActiveFile(f"{first}-{last}", 1, first, last, 10) for first, last in spans]


def names(step: Step | None) -> tuple[list[str], list[str], int] | None:
    return step and ([each.name for each in step.settled], [each.name for each in step.newer], step.batch)


@pytest.mark.parametrize(
    ("spans", "settled", "upto", "most", "expected"),
    [
        ([(0, 4), (5, 5), (6, 6)], -1, 5, 100, ([], ["0-4", "5-5"], 5)),
        ([(0, 4), (5, 5), (6, 6)], 4, 6, 10, (["0-4"], ["5-5"], 5)),  # as many as memory holds
        ([(0, 4), (5, 5), (6, 6)], 4, 6, 1, (["0-4"], ["5-5"], 5)),  # or the fewest there are
        ([(0, 4), (2, 2), (5, 5)], -1, 2, 100, None),  # 0-4 may have older changes of what 2-2 deletes
        ([(0, 4), (2, 2), (5, 5)], -1, 4, 100, ([], ["2-2", "0-4"], 4)),
        ([(0, 4), (-1, -1), (5, 5)], -1, 5, 100, None),  # nobody knows what is in it
        ([(0, 4)], 4, 9, 100, None),
        ([], -1, 9, 100, None),
    ],
)
def test_step_ends_where_no_file_has_batches_on_both_sides(
    spans: list[tuple[int, int]], settled: int, upto: int, most: int, expected: object
) -> None:
    assert names(next_step(files(*spans), settled, upto, most)) == expected


CHANGES = st.lists(
    st.lists(st.tuples(st.sampled_from(["a", "b", "ç", "d", None]), st.booleans()), max_size=4),
    min_size=12,
    max_size=24,
)


@settings(max_examples=8, deadline=None, derandomize=True)
@given(
    days=CHANGES, closes=st.booleans(), most=st.sampled_from([1, 4, 1000]), small=st.sampled_from([0, 3_000, 1 << 20])
)
def test_current_rows_are_those_of_all_changes(days: list[list[Change]], closes: bool, most: int, small: int) -> None:
    with pytest.MonkeyPatch.context() as patch, TemporaryDirectory() as folder:
        log = ChangeLog(Path(folder) / "t", closes)
        with_clock(log, patch)
        patch.setattr(retiring, "MANY", most)
        patch.setattr(compaction, "SMALL", small)
        for changes in days:
            log.pass_day(changes)
            assert rows_of(log.stored) == rows_of(log.changes)
        assert {*log.stored} <= {*log.changes} and len({*log.stored}) == len(log.stored)
        gone = retention.read(log.folder).gone.batch + 1
        assert [row for row in log.stored if row[0] >= gone] == [row for row in log.changes if row[0] >= gone]
        newest = {(key, number) for key, (number, deleted) in log.newest_before(gone).items() if closes or not deleted}
        assert {(key, number) for batch, key, number, _ in log.stored if batch < gone} <= newest
