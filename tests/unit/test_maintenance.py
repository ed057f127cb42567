"""Maintenance keeps a table's log and files small, and every row and commit where readers find them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, cast

import pytest
from deltalake import DeltaTable

from headrace.store import delta_tables, durable, parquet
from headrace.store.commits import entry_path
from headrace.store.history import History
from headrace.store.maintenance import passes
from headrace.store.maintenance.compaction import MANY, SMALL, groups
from headrace.store.maintenance.passes import Maintenance, Policy
from headrace.store.maintenance.rewriting import Rewrite
from headrace.store.removal import data_files
from headrace.store.removal.data_files import ActiveFile, Removals
from headrace.tables.delta import ReplacedTable
from tests import duck
from tests.long import one_of
from tests.unit.plain_rows import ROWS, Plain
from tests.unit.synthetic_table import SyntheticTable, ids

AT_ONCE = Policy(keep_history=0.0, kept=20, worth=25)


@pytest.fixture(autouse=True)
def unsynced(monkeypatch: pytest.MonkeyPatch) -> None:
    """No power is lost here, and a thousand commits would wait for the disk."""
    monkeypatch.setattr(os, "fsync", lambda file: None)


@pytest.fixture
def table(tmp_path: Path) -> SyntheticTable:
    return SyntheticTable.at(tmp_path / "t")


def grown(table: SyntheticTable, batches: int, policy: Policy = AT_ONCE) -> None:
    """Let it grow, with maintenance every now and then."""
    work = Maintenance(table.path, policy)
    for _ in range(batches // 25):
        table.append(25)
        work.step()


def test_what_is_little_stays(table: SyntheticTable) -> None:
    table.append(43)
    assert Maintenance(table.path, AT_ONCE).step() is None
    assert not (table.path / "_history").exists()


def test_log_and_files_stay_few_and_no_row_is_lost(table: SyntheticTable) -> None:
    grown(table, 500)
    table.append(1)
    assert table.ids == ids(501)
    assert sorted(row["id"] for row in duck.rows(table.path)) == ids(501)
    assert len(table.files) < 60
    assert len(table.log) < 90
    assert sum(file.stat().st_size for file in table.log) < 200_000


def test_row_is_written_again_a_few_times_however_many_passes_follow() -> None:
    stored, written, most = list[ActiveFile](), 0, 0
    for number in range(1000):
        stored.append(ActiveFile(f"{number}", 30_000, number, number))
        for group in groups([each for each in stored if each.size < SMALL]):
            at, size = stored.index(group[0]), sum(each.size for each in group)
            assert stored[at : at + len(group)] == group
            stored[at : at + len(group)] = [ActiveFile(group[-1].name, size, group[0].first, group[-1].last)]
            written, most = written + size, max(most, len(stored))
    rows = 1000 * 30_000
    assert (sum(each.size for each in stored), written < 10 * rows, most < 15) == (rows, True, True)


def test_no_more_rows_are_made_one_than_memory_holds() -> None:
    files = [ActiveFile(f"{number}", 1_000, number, number, MANY // 3 + 1) for number in range(10)]
    assert [[each.name for each in group] for group in groups(files)] == [[*"789"], [*"456"], [*"123"]]


def test_rows_are_those_that_were_committed(table: SyntheticTable) -> None:
    table.append(100)
    Maintenance(table.path, AT_ONCE).step()
    assert table.ids == ids(100)
    assert DeltaTable(table.path).to_pyarrow_table().num_rows == 200


def test_history_tells_of_every_commit_that_has_left_the_log(table: SyntheticTable) -> None:
    work = Maintenance(table.path, AT_ONCE)
    for _ in range(12):
        table.append(30)
        work.step()
    past = History(table.path)
    assert not entry_path(table.path, 1).exists()
    found = [past.find(version) for version in range(past.upto + 1)]
    batches = [commit.batch for commit in found if commit is not None and commit.has_rows]
    assert batches == [*range(len(batches))]
    first = past.find(1)
    assert first is not None
    assert (first.is_past, first.added_rows, first.records, "inputs" in first.marker) == (True, True, 2, False)
    assert len([*past.folder.glob("*-*.parquet")]) < 10


def test_reader_of_the_log_keeps_its_entries(table: SyntheticTable) -> None:
    table.append(100)
    work = Maintenance(table.path, AT_ONCE)
    assert work.step(bound=20) is None
    work.step(bound=50)
    table.append(50)
    work.step(bound=50)
    assert all(entry_path(table.path, version).exists() for version in range(50, 150))


def test_replaced_files_stay_for_a_while(table: SyntheticTable) -> None:
    table.append(100)
    Maintenance(table.path, Policy(keep_history=3600.0, kept=20, worth=25)).step()
    assert (table.path / "batch-0/part-0.parquet").exists()
    Maintenance(table.path, AT_ONCE).step()
    assert not (table.path / "batch-0").exists()
    assert (table.path / "batch-99/part-0.parquet").exists()


def test_notes_of_an_older_version_are_taken_over(tmp_path: Path) -> None:
    table = SyntheticTable.at(tmp_path / "t")
    for name in ("old", "young", "read"):
        (table.path / name).write_text("")
    notes = [{"at": 10.0, "files": ["old"]}, {"at": 30.0, "files": ["young"], "version": 1}]
    durable.write(
        table.path / "_history" / "removed.json", json.dumps([*notes, {**notes[0], "files": ["read"], "version": 9}])
    )
    removals = Removals(table.path / "_history" / "removed")
    assert removals.names == {"old", "young", "read"}
    assert [removals.remove(table.path, 20.0, bound=5) for _ in range(2)] == [1, 0]
    assert removals.names == {"young", "read"}
    assert not (table.path / "old").exists() and (table.path / "young").exists() and (table.path / "read").exists()


STEPS = [
    (History, "add"),
    (passes.Removals, "add"),
    (parquet, "write"),
    (Rewrite, "commit"),
    (passes.Maintenance, "_trim"),
    (passes.Removals, "remove"),
    (data_files, "_delete"),
]


class Died(BaseException):
    """The process ends."""


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize(("where", "step"), one_of(3, STEPS), ids=[step for _, step in STEPS])
def test_a_pass_that_was_broken_off_is_made_good_by_the_next(
    table: SyntheticTable, monkeypatch: pytest.MonkeyPatch, where: Any, step: str, when: str
) -> None:
    table.append(120)
    work = getattr(where, step)

    def dying(*words: Any, **named: Any) -> Any:
        if when == "after":
            work(*words, **named)
        raise Died

    with monkeypatch.context() as patch:
        patch.setattr(where, step, dying)
        with pytest.raises(Died):
            Maintenance(table.path, AT_ONCE).step()
    assert table.ids == ids(120)
    for _ in range(3):
        Maintenance(table.path, Policy(keep_history=0.0, kept=20, worth=1)).step()
    assert table.ids == ids(120)
    assert all(History(table.path).find(version) for version in range(100))


def test_batch_that_commits_meanwhile_goes_on(table: SyntheticTable, monkeypatch: pytest.MonkeyPatch) -> None:
    table.append(100)
    write = durable.write_new

    def writing(file: Path, text: str, *behind: Path) -> None:
        monkeypatch.setattr(durable, "write_new", write)
        table.append(3)
        write(file, text, *behind)

    monkeypatch.setattr(durable, "write_new", writing)
    Maintenance(table.path, AT_ONCE).step()
    assert table.ids == ids(103)


def test_commit_whose_answer_is_late_is_its_own(table: SyntheticTable, monkeypatch: pytest.MonkeyPatch) -> None:
    table.append(100)
    write = durable.write_new

    def writing(file: Path, text: str, *behind: Path) -> None:
        write(file, text, *behind)
        raise FileExistsError(str(file))

    monkeypatch.setattr(durable, "write_new", writing)
    Maintenance(table.path, AT_ONCE).step()
    monkeypatch.setattr(durable, "write_new", write)
    assert table.ids == ids(100)
    assert len([*table.path.glob("compacted-*")]) == 1


def test_files_that_others_took_before_the_commit_do_not_come_back(
    table: SyntheticTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody compacts the table while the pass reads the rows: both would add them."""
    table.append(100)
    joined = parquet.joined

    def compacting(files: Any) -> Any:
        monkeypatch.setattr(parquet, "joined", joined)
        DeltaTable(table.path).optimize.compact()
        return joined(files)

    monkeypatch.setattr(parquet, "joined", compacting)
    Maintenance(table.path, AT_ONCE).step()
    assert table.ids == ids(100)
    assert not [*table.path.glob("compacted-*")]


def test_pass_goes_on_behind_the_optimize_and_vacuum_of_another_tool(table: SyntheticTable) -> None:
    table.append(100)
    other = DeltaTable(table.path)
    other.optimize.compact()
    assert other.vacuum(retention_hours=0, dry_run=False, enforce_retention_duration=False)
    table.append(100)
    Maintenance(table.path, AT_ONCE).step()
    assert table.ids == ids(200)


def test_change_of_other_files_does_not_end_the_pass(table: SyntheticTable, monkeypatch: pytest.MonkeyPatch) -> None:
    table.append(100)
    gone = {"path": "batch-99/part-0.parquet", "deletionTimestamp": 1, "dataChange": True, "size": 1}
    joined = parquet.joined

    def removing(files: Any) -> Any:
        monkeypatch.setattr(parquet, "joined", joined)
        table.commit([{"remove": gone}], {})
        return joined(files)

    monkeypatch.setattr(parquet, "joined", removing)
    Maintenance(table.path, AT_ONCE).step()
    assert table.ids == [each for each in ids(100) if not each.startswith("é99-")]
    assert len([*table.path.glob("compacted-*")]) == 1


def test_foreign_change_ends_the_pass_and_loses_nothing(table: SyntheticTable, monkeypatch: pytest.MonkeyPatch) -> None:
    table.append(100)
    gone = {"path": "batch-1/part-0.parquet", "deletionTimestamp": 1, "dataChange": True, "size": 1}
    write = durable.write_new

    def writing(file: Path, text: str, *behind: Path) -> None:
        monkeypatch.setattr(durable, "write_new", write)
        table.commit([{"remove": gone}], {})
        write(file, text, *behind)

    monkeypatch.setattr(durable, "write_new", writing)
    Maintenance(table.path, AT_ONCE).step()
    assert table.ids == [each for each in ids(100) if not each.startswith("é1-")]
    assert not [*table.path.glob("compacted-*")]


def test_files_of_a_version_that_is_read_stay(table: SyntheticTable) -> None:
    table.append(60)
    read = DeltaTable(table.path)  # by a query that looks the table up as it was when the query started
    work = Maintenance(table.path, AT_ONCE)
    for _ in range(3):
        work.step(bound=read.version())
        table.append(30)
    assert read.to_pyarrow_table().num_rows == 120
    for _ in range(2):
        work.step(bound=DeltaTable(table.path).version())
        table.append(30)
    assert len(table.files) < 100


@pytest.mark.parametrize(("large", "copies"), [(0, 2), (5_000, 12), (1 << 20, 40)], ids=["large", "middle", "small"])
def test_few_copies_of_large_rows_that_are_replaced_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, large: int, copies: int
) -> None:
    monkeypatch.setattr(passes, "LARGE", large)
    table = ReplacedTable(cast(Any, None), tmp_path / "t", ROWS)
    table.create()
    work = Maintenance(tmp_path / "t", Policy(keep_history=0.0, kept=20, worth=20, is_replaced=True))
    most = 0
    for batch in range(110):
        table.replace(Plain.of(batch), {"query": "q", "batch": batch, "rows": 2})
        work.step()
        most = max(most, len([*table.path.glob("batch-*/*.parquet")]))
    assert most == copies
    assert DeltaTable(tmp_path / "t").to_pyarrow_table().column("n").to_pylist() == [218, 219]


def test_newest_version_may_have_a_checkpoint_already(table: SyntheticTable) -> None:
    table.append(100)
    work = Maintenance(table.path, AT_ONCE)
    delta_tables.create_checkpoint(table.path)
    done = work.step()
    assert done is not None and done.compacted > 0
    delta_tables.create_checkpoint(table.path)
    delta_tables.create_checkpoint(table.path)
    assert table.ids == ids(100)
