"""What killed writers leave is removed after a day; what a writer may still need is not."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pytest
from pyspark.sql.types import StructType

from headrace.errors import Overtaken
from headrace.spark.materialized import Materialized
from headrace.store import durable, parquet, trees
from headrace.store.delta_tables import create_checkpoint
from headrace.store.history import commits_of
from headrace.store.maintenance.passes import Maintenance, Policy
from headrace.store.paths import StorePath
from headrace.store.removal import drafts
from headrace.tables.delta import CommitTable
from tests import buckets
from tests.unit.synthetic_table import SyntheticTable, ids

HEX = "0123456789abcdef0123456789abcdef"
ROWS = pa.table({"n": pa.array([1], pa.int32())})


@pytest.fixture(autouse=True)
def unsynced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda file: None)


def aged(folder: Path) -> None:
    """As if all below had been written two days ago."""
    for path in (folder, *folder.rglob("*")):
        os.utime(path, (time.time() - 2 * drafts.SAFE_SECONDS,) * 2)


def placed(file: Path) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(b"half of it")
    return file


UNNAMED = [
    f"checkpoints/q/.{HEX}.tmp",
    "checkpoints/q/offsets/.7.6b3f4f6e-95b5-4a52-93e7-4b2a3a1c8a66.tmp",
    "checkpoints/q/offsets/..7.6b3f4f6e-95b5-4a52-93e7-4b2a3a1c8a66.tmp.crc",
    f"tables/gold/t/_delta_log/.{HEX}.tmp",
    "tables/gold/t/.checkpoint-x7/_delta_log/00000000000000000003.json",
]
NAMED = ["checkpoints/q/offsets/7", "checkpoints/q/offsets/.7.crc", "tables/gold/t/_delta_log/0.json", "swap.json"]


@pytest.mark.parametrize("name", UNNAMED)
def test_file_that_got_no_name_goes_after_a_day(tmp_path: Path, name: str) -> None:
    for each in (name, *NAMED):
        placed(tmp_path / each)
    assert drafts.sweep(tmp_path) == 0
    aged(tmp_path)
    assert drafts.sweep(tmp_path) == 1
    assert sorted(str(each.relative_to(tmp_path)) for each in trees.files(tmp_path)) == sorted(NAMED)


def test_draft_in_which_somebody_writes_stays(tmp_path: Path) -> None:
    folder = placed(tmp_path / ".checkpoint-x7" / "old").parent
    aged(tmp_path)
    placed(folder / "new")
    assert drafts.sweep(tmp_path) == 0


def test_checkpoint_leaves_that_of_another_process_alone(tmp_path: Path) -> None:
    table = SyntheticTable.at(tmp_path / "t")
    other = placed(table.path / ".checkpoint-x7" / "_delta_log" / "half")
    create_checkpoint(table.path)
    assert other.is_file()


def swept(table: StorePath) -> int:
    found = Maintenance(table, Policy(keep_history=1e12)).step()
    return found.drafts if found else 0


def test_data_files_without_a_commit_go_after_a_day(tmp_path: Path) -> None:
    table = SyntheticTable.at(tmp_path / "t")
    for name in (f"batch-{HEX}/_temporary/0/part-0.parquet", f"compacted-{HEX}.parquet", "of-others.parquet"):
        placed(table.path / name)
    assert swept(table.path) == 0
    aged(table.path)
    assert swept(table.path) == 2
    assert [file.name for file in table.files] == ["of-others.parquet"]


COMMITTED: dict[str, Callable[[SyntheticTable, dict[str, Any]], object]] = {
    "in the table": lambda table, add: table.commit([add], {}),
    "replaced": lambda table, add: table.commit([{"remove": {**add["add"], "deletionTimestamp": 0}}], {}),
    "noted": lambda table, add: Maintenance(table.path, Policy(0))._removals.add([add["add"]["path"]], 0, 1_000),
}


@pytest.mark.parametrize("known", COMMITTED)
def test_data_file_that_is_known_stays(tmp_path: Path, known: str) -> None:
    table = SyntheticTable.at(tmp_path / "t")
    written = parquet.write(table.path, f"batch-{HEX}/part 0.parquet", ROWS)
    add: dict[str, Any] = {"add": {**written.to_add()["add"], "path": f"batch-{HEX}/part%200.parquet"}}
    COMMITTED[known](table, add)
    aged(table.path)
    assert swept(table.path) == 0
    assert len(table.files) == 1


def test_table_is_whole_after_a_sweep(tmp_path: Path) -> None:
    table = SyntheticTable.at(tmp_path / "t")
    for _ in range(2):
        table.append(60)
        aged(table.path)
        Maintenance(table.path, Policy(keep_history=1e9, kept=20, worth=1)).step()
    assert table.ids == ids(120)
    named = [name for commit in commits_of(table.path) for name in commit.files]
    assert len(named) > 50 and all((table.path / name).is_file() for name in named)


class Written(Materialized):
    """A row that is written without Spark."""

    def write(self, folder: StorePath) -> None:
        assert isinstance(folder, Path)
        folder.mkdir()
        parquet.write(folder, "part-0.parquet", ROWS)

    def release(self) -> None: ...

    def narrowed(self, fewer: Any) -> Materialized:
        raise NotImplementedError


def test_files_that_may_be_swept_are_not_committed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = CommitTable(cast(Any, None), tmp_path / "t", StructType().add("n", "integer"))
    table.create()
    monkeypatch.setattr(drafts, "SAFE_SECONDS", -1)
    with pytest.raises(Overtaken, match="it runs again"):
        table.append(Written(cast(Any, None), 1), {"query": "q", "batch": 0, "rows": 1})
    assert table.newest_version() == 0
    assert table.note({"query": "q", "batch": 0}) == 1


def test_writer_that_was_stopped_for_days_commits_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = CommitTable(cast(Any, None), tmp_path / "t", StructType().add("n", "integer"))
    table.create()
    write_new = durable.write_new

    def days_later(file: Path, text: str, *behind: Path) -> None:
        aged(table.path)
        assert swept(table.path) == 1
        write_new(file, text, *behind)

    monkeypatch.setattr(durable, "write_new", days_later)
    with pytest.raises(FileNotFoundError):
        table.append(Written(cast(Any, None), 1), {"query": "q", "batch": 0, "rows": 1})
    assert table.newest_version() == 0


def test_bucket_is_swept_too(monkeypatch: pytest.MonkeyPatch) -> None:
    bucket = buckets.in_memory()
    (bucket / "checkpoints" / f".{HEX}.tmp").write_text("half")
    (bucket / "checkpoints" / "whole").write_text("all")
    assert drafts.sweep(bucket) == 0
    monkeypatch.setattr(drafts, "SAFE_SECONDS", -1)
    assert drafts.sweep(bucket) == 1
    assert [each.key for each in bucket.files()] == ["checkpoints/whole"]
