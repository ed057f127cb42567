"""Commits of two runners to one table: each batch is there once, and whoever comes second is told."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pytest
from deltalake import DeltaTable, Field, QueryBuilder, TableFeatures, write_deltalake
from deltalake.exceptions import CommitFailedError
from deltalake.schema import PrimitiveType
from pyspark.errors import PySparkException
from pyspark.sql.types import StructType

from headrace.errors import HeadraceError, Overtaken
from headrace.spark.failures import is_transient, message_of
from headrace.store import durable, parquet
from headrace.store.commits import UPKEEP, Commit, actions_of, entry_path, marker_of, put_entry
from headrace.store.maintenance.passes import Maintenance, Policy
from headrace.store.paths import StorePath
from headrace.tables import commit_log, delta
from headrace.tables.delta import CommitTable, ReplacedTable

SCHEMA = StructType().add("n", "integer")


def marked(batch: int, query: str = "q") -> dict[str, Any]:
    return {"query": query, "batch": batch}


Opened = Callable[[], CommitTable]


@pytest.fixture
def opened(tmp_path: Path) -> Opened:
    """Opens the table as another runner does; no test asks Spark for anything."""

    def open_it() -> CommitTable:
        table = CommitTable(cast(Any, None), tmp_path / "t", SCHEMA)
        table.create()
        return table

    return open_it


def batches(table: CommitTable) -> list[int]:
    return [commit.batch for commit in table.commits(0)]


def test_batch_is_committed_once(opened: Opened) -> None:
    one, other = opened(), opened()
    one.note(marked(0))
    with pytest.raises(Overtaken, match="batch 0 of q"):
        other.note(marked(0))
    assert batches(other) == [0]


def test_runner_that_was_stopped_is_refused(opened: Opened) -> None:
    stopped, other = opened(), opened()
    stopped.note(marked(0))
    for batch in (1, 2):
        other.note(marked(batch))
    with pytest.raises(Overtaken):
        stopped.note(marked(1))
    stopped.newest_version()
    with pytest.raises(Overtaken):
        stopped.note(marked(2))
    assert batches(opened()) == [0, 1, 2]


@pytest.fixture
def trimmed(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> CommitTable:
    """A table as it was seen before others wrote on, and the log was trimmed beyond that."""
    monkeypatch.setattr(commit_log, "_SEEN_SECONDS", 0)
    seen, writer = opened(), opened()
    for first in (0, 5):  # the second pass removes what the checkpoint of the first one sums up
        for batch in range(first, first + 5):
            writer.note(marked(batch))
        Maintenance(seen.path, Policy(keep_history=0, kept=2, worth=1)).step()
    assert not entry_path(seen.path, 1).is_file()
    return seen


def test_reader_that_paused_while_the_log_was_trimmed_misses_nothing(trimmed: CommitTable) -> None:
    assert [batch for batch in batches(trimmed) if batch >= 0] == [*range(10)]


def test_writer_that_paused_while_the_log_was_trimmed_is_refused(trimmed: CommitTable) -> None:
    with pytest.raises(Overtaken):
        trimmed.note(marked(0))
    assert not entry_path(trimmed.path, 1).is_file()


def test_runner_that_took_over_goes_on(opened: Opened) -> None:
    former, other = opened(), opened()
    other.newest_marker("q")
    former.note(marked(0))
    other.note(marked(1))
    assert batches(other) == [0, 1]


def test_commits_of_others_do_not_hinder(opened: Opened) -> None:
    one, other = opened(), opened()
    one.note(marked(0))
    other.note(marked(7, "another"))
    other.note({})
    one.note(marked(1))
    assert batches(one) == [0, 7, -1, 1]


def test_note_about_a_batch_may_repeat_its_number(opened: Opened) -> None:
    table = opened()
    table.note(marked(3))
    table.note(marked(3), of_batch=True)
    with pytest.raises(Overtaken):
        table.note(marked(2), of_batch=True)


def test_answer_that_was_lost_is_no_refusal(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    table, write_new = opened(), durable.write_new

    def repeated(file: Path, text: str, *behind: Path) -> None:
        write_new(file, text, *behind)
        write_new(file, text, *behind)

    monkeypatch.setattr(durable, "write_new", repeated)
    for batch in range(3):
        table.note(marked(batch))
    assert batches(table) == [0, 1, 2]


def test_of_many_runners_one_commits(opened: Opened) -> None:
    tables = [opened() for _ in range(8)]

    def wins(table: CommitTable) -> bool:
        try:
            table.note(marked(0))
        except Overtaken:
            return False
        return True

    with ThreadPoolExecutor(len(tables)) as pool:
        assert [*pool.map(wins, tables)].count(True) == 1
    assert batches(opened()) == [0]


def test_own_commits_are_not_read_again(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    table = opened()
    table.note(marked(0))
    for module in (delta, commit_log):
        monkeypatch.setattr(module, "actions_of", None)
    for batch in (1, 2, 3):
        table.note(marked(batch))
        newest = table.newest_marker("q")
        assert newest is not None and newest.batch == batch


REMOVED = {"remove": {"path": "f", "deletionTimestamp": 1, "dataChange": True, "size": 1}}
COMPACTED = {"remove": {**REMOVED["remove"], "dataChange": False}}
RAISED = {"protocol": {"minReaderVersion": 3, "minWriterVersion": 7}}
WIDER = {"metaData": {"schemaString": StructType().add("n", "integer").add("more", "string").json()}}
HARM = [(REMOVED, "removed rows"), (RAISED, "table features"), (WIDER, "its columns [(]more[)]")]


@pytest.mark.parametrize("moment", ["before", "as the next version is written"])
@pytest.mark.parametrize(("action", "what"), HARM)
def test_harm_of_others_is_noticed_by_the_next_commit(
    opened: Opened, monkeypatch: pytest.MonkeyPatch, action: Any, what: str, moment: str
) -> None:
    table = opened()
    table.note(marked(0))
    write_new = durable.write_new

    def harmed() -> None:
        monkeypatch.setattr(durable, "write_new", write_new)
        assert put_entry(table.path, 2, [action])

    def writing(file: Path, text: str, *behind: Path) -> None:
        harmed()
        write_new(file, text, *behind)

    if moment == "before":
        harmed()
        assert table.newest_version() == 2  # somebody has read it since
    else:
        monkeypatch.setattr(durable, "write_new", writing)
    with pytest.raises(HeadraceError, match=f"somebody has .*{what}.* in version 2, .*headrace reset"):
        table.note(marked(1))
    assert table.newest_version() == 2


def one_row() -> Any:
    return QueryBuilder().execute("select 7::int as n")


TOOLS: list[tuple[str, str, Callable[[DeltaTable], object]]] = [
    ("FEATURE", "table features", lambda table: table.alter.add_feature(TableFeatures.DeletionVectors, True)),
    ("COLUMN", "its columns [(]more[)]", lambda table: table.alter.add_columns(Field("more", PrimitiveType("string")))),
    ("WRITE", "removed rows", lambda table: write_deltalake(table, one_row(), mode="overwrite")),
    ("DELETE", "removed rows", lambda table: table.delete("n = 1")),
    ("UPDATE", "removed rows", lambda table: table.update({"n": "8"})),
    ("RESTORE", "removed rows", lambda table: table.restore(1)),
    ("WRITE", "added rows", lambda table: write_deltalake(table, one_row(), mode="append")),
]


def append(table: CommitTable, batch: int) -> None:
    """Commit a row of a batch."""
    rows = pa.table({"n": pa.array([batch], pa.int32())})
    added = parquet.write(table.path, f"batch-{batch}.parquet", rows).to_add()
    info = {"userMetadata": json.dumps({"headrace": {**marked(batch), "rows": 1}})}
    assert put_entry(table.path, table.newest_version() + 1, [{"commitInfo": info}, added])


@pytest.fixture
def written(tmp_path: Path) -> CommitTable:
    """A table of two rows without `appendOnly`, or tools would refuse to remove rows by themselves."""
    table = CommitTable(cast(Any, None), tmp_path / "t", SCHEMA)
    table.properties = {}
    table.create()
    for batch in (0, 1):
        append(table, batch)
    return table


def next_run(table: CommitTable) -> CommitTable:
    """The table as the next run opens it."""
    opened = CommitTable(table.spark, table.path, SCHEMA)
    opened.properties = {}
    return opened


@pytest.mark.parametrize(("operation", "what", "change"), TOOLS, ids=[f"{each[0]} {each[1][:12]}" for each in TOOLS])
def test_what_another_tool_writes_is_refused(
    written: CommitTable, operation: str, what: str, change: Callable[[DeltaTable], object]
) -> None:
    """By a writer that runs, by the next start, and by whoever writes without one."""
    written.create()
    change(DeltaTable(written.path))
    says = f"t: somebody has .*{what}.* in version 3 [(].*{operation}.* at 20.* UTC[)], .*headrace reset"
    for refused in (lambda: written.note(marked(2)), next_run(written).create, lambda: next_run(written).note({})):
        with pytest.raises(HeadraceError, match=says):
            refused()
    assert written.newest_version() == 3


def test_upkeep_by_another_tool_is_followed_at_a_start(written: CommitTable) -> None:
    DeltaTable(written.path).optimize.compact()
    DeltaTable(written.path).vacuum(0, dry_run=False, enforce_retention_duration=False)
    run = next_run(written)
    run.create()
    assert run.note(marked(2)) == run.newest_version()


def test_vacuum_that_removes_what_was_committed_meanwhile_is_refused(written: CommitTable) -> None:
    """One that keeps nothing of the last hour takes the files of commits that it does not know for unused."""
    written.create()
    began = DeltaTable(written.path)
    append(written, 2)
    written.note(marked(3))
    began.vacuum(0, dry_run=False, enforce_retention_duration=False, full=True)
    assert not (written.path / "batch-2.parquet").is_file()
    says = "t: somebody has removed its data file batch-2.parquet in version . [(]VACUUM .*[)], .*headrace restore"
    for refused in (lambda: written.note(marked(4)), next_run(written).create):
        with pytest.raises(HeadraceError, match=says):
            refused()


def test_start_reads_what_has_changed_since_the_last_commit(
    written: CommitTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = list[int]()

    def noted(table: Path, version: int) -> list[dict[str, Any]]:
        read.append(version)
        return actions_of(table, version)

    DeltaTable(written.path).optimize.compact()
    for module in (delta, commit_log):
        monkeypatch.setattr(module, "actions_of", noted)
    next_run(written).create()
    assert read == [3, 2]


def test_maintenance_hides_no_harm_from_the_next_start(written: CommitTable) -> None:
    for batch in range(2, 8):
        append(written, batch)
    DeltaTable(written.path).delete("n = 7")
    Maintenance(written.path, Policy(keep_history=0, kept=2, worth=1)).step()
    assert is_upkeep(written.path, 10)
    with pytest.raises(HeadraceError, match="removed rows from it in version 9"):
        next_run(written).create()


def is_upkeep(table: Path | StorePath, version: int) -> bool:
    return UPKEEP in marker_of(actions_of(table, version))


def test_log_that_others_have_shortened_is_refused(written: CommitTable) -> None:
    DeltaTable(written.path).optimize.compact()
    DeltaTable(written.path).create_checkpoint()
    for version in range(3):
        entry_path(written.path, version).unlink()
    with pytest.raises(HeadraceError, match=r"removed version 2 from its log.*headrace restore"):
        next_run(written).create()


def test_rows_that_others_add_are_not_read(written: CommitTable) -> None:
    write_deltalake(written.path, one_row(), mode="append")
    with pytest.raises(HeadraceError, match=r"added rows to it in version 3 [(]WRITE by delta-rs"):
        [*written.commits(-1)]


def test_other_tools_do_not_delete_what_is_appended(opened: Opened) -> None:
    table = opened()
    append(table, 0)
    with pytest.raises(CommitFailedError, match="append-only"):
        DeltaTable(table.path).delete()
    table.note(marked(1))


def test_changes_of_files_and_names_by_others_are_followed(opened: Opened) -> None:
    table = opened()
    table.note(marked(0))
    (metadata,) = (each["metaData"] for each in actions_of(table.path, 0) if "metaData" in each)
    put_entry(table.path, 2, [{"metaData": {**metadata, "name": "t"}}])
    put_entry(table.path, 3, [COMPACTED])
    assert table.note(marked(1)) == 4


def test_rows_that_are_replaced_as_a_whole_may_be_removed_by_others(tmp_path: Path) -> None:
    table = ReplacedTable(cast(Any, None), tmp_path / "t", SCHEMA)
    table.create()
    put_entry(table.path, 1, [{**REMOVED}])
    assert table.note(marked(0)) == 2


def stored(table: CommitTable) -> Commit:
    """The commit of rows that were stored last."""
    append(table, 0)
    found = table.newest_marker("q")
    assert found is not None
    return found


CHANGES: list[tuple[str, Callable[[CommitTable], object], bool]] = [
    ("compacted", lambda table: DeltaTable(table.path).optimize.compact(), True),
    ("removed", lambda table: DeltaTable(table.path).delete(), False),
    ("gone", lambda table: data_file(table).unlink(), False),
    ("torn", lambda table: data_file(table).write_bytes(data_file(table).read_bytes()[:-9]), False),
]


def data_file(table: CommitTable) -> Path:
    (found,) = table.path.glob("batch-*")
    assert isinstance(found, Path)
    return found


@pytest.mark.parametrize(("what", "change", "stays"), CHANGES, ids=[each[0] for each in CHANGES])
def test_current_rows_that_are_not_as_they_were_stored_are_stored_again(
    tmp_path: Path, what: str, change: Callable[[CommitTable], object], stays: bool
) -> None:
    table = ReplacedTable(cast(Any, None), tmp_path / "t", SCHEMA)
    table.create()
    commit = stored(table)
    assert table.is_as_left(commit) and table.holds(commit)
    change(table)
    assert table.is_as_left(commit) is stays
    assert table.holds(commit) is (what in ("compacted", "removed"))


def test_rows_that_others_add_to_current_rows_are_refused_with_a_way_out(tmp_path: Path) -> None:
    table = ReplacedTable(cast(Any, None), tmp_path / "t", SCHEMA)
    table.create()
    write_deltalake(table.path, one_row(), mode="append")
    for refused in (lambda: table.note(marked(0)), ReplacedTable(table.spark, table.path, SCHEMA).create):
        with pytest.raises(HeadraceError, match=r"added rows.*remove this folder.*change log"):
            refused()


def test_refusal_within_a_batch_of_the_streaming_engine_comes_in_its_own_words() -> None:
    said = "/data/tables/gold/t: somebody has added rows to it in version 3"
    traceback = f"Traceback (most recent call last):\n  File 'x', line 1\nheadrace.errors.HeadraceError: {said}\n"
    text = f"[STREAM_FAILED] Query failed: Reason: An exception was raised by the Python Proxy.\n{traceback}\n\tat Java"
    assert message_of(PySparkException(text)) == said
    assert is_transient(PySparkException(text)) is False


@pytest.mark.parametrize("error", [Overtaken("done"), RuntimeError("...\nheadrace.errors.Overtaken: done")])
def test_overtaken_query_starts_again_from_what_is_stored(error: Exception) -> None:
    assert is_transient(error)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "org.apache.parquet.util.AutoCloseables$ParquetCloseResourceException: Unable to close\n\tat a.B.c\n"
            "Caused by: java.io.IOException: No space left on device\n\t... 40 more",
            "No space left on device",
        ),
        (
            "An error occurred while calling o7.write.\n"
            ": org.apache.hadoop.fs.FSError: java.io.IOException: No space left on device\n\tat a.B.c",
            "No space left on device",
        ),
        (
            "[CANNOT_WRITE] Task failed.\nCaused by: java.io.FileNotFoundException: /data/t/f (Read-only file system)",
            "/data/t/f (Read-only file system)",
        ),
    ],
)
def test_what_a_disk_says_is_named_though_it_is_only_among_the_causes(text: str, says: str) -> None:
    """And nothing of Java is."""
    assert message_of(PySparkException(text)) == says


@pytest.mark.parametrize(
    ("may_write", "says"),
    [(False, "/data/t/b cannot be made: /data/t cannot be written; is "), (True, "/data/t/b can")],
)
def test_folder_that_cannot_be_made_is_named_with_the_reason(
    monkeypatch: pytest.MonkeyPatch, may_write: bool, says: str
) -> None:
    monkeypatch.setattr(os, "access", lambda *_: may_write)
    text = "java.io.IOException: Mkdirs failed to create file:/data/t/b (exists=false, cwd=file:/home)\n\tat a.B.c"
    assert message_of(PySparkException(text)).startswith(says)
    assert is_transient(PySparkException(text))
