"""Files that are empty, cut short or garbage: each is named with the way out, or counts as not written."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import Schema

from headrace.environment import backup, swap
from headrace.errors import HeadraceError, TornFile
from headrace.landing.starts import Start, Starts
from headrace.planning import declared
from headrace.project import rebuilds, resets
from headrace.project.rebuilds import Rebuild
from headrace.project.resets import ResetNote
from headrace.publishing.set_aside import Notes
from headrace.queries.inputs import InputLog, Inputs
from headrace.reading import status
from headrace.store import durable, parquet, trees
from headrace.store.commits import Commit, actions_of, put_entry
from headrace.store.delta_tables import create_checkpoint, create_table, open_table
from headrace.store.history import History
from headrace.store.layout import Layout
from headrace.store.leases.object_store import ObjectLease
from headrace.store.maintenance import retention
from headrace.store.maintenance.retention import Ages
from headrace.store.removal.data_files import Removals
from headrace.streaming import offset_log, positions, source_names
from headrace.tables.closed_keys.runs import SCHEMA, KeyRuns
from headrace.tables.current import is_whole
from headrace.tables.positions import Position
from tests import buckets

COLUMNS = pa.schema([("n", pa.int64())])
ROWS = pa.Table.from_pylist([{"n": 1}], COLUMNS)
OFFSETS = 'v2\n{"conf":{}}\none:{"reservoirId":"a","reservoirVersion":3,"index":-1}'


@dataclass(frozen=True)
class Kind:
    """A kind of file: what writes one below a folder and returns it, and what reads it there."""

    name: str
    write: Callable[[Path], Path]
    read: Callable[[Path], Any]


def written(name: str, text: str) -> Callable[[Path], Path]:
    """A file with a text."""

    def write(root: Path) -> Path:
        durable.write(root / name, text)
        return root / name

    return write


def after(name: str, act: Callable[[Path], Any]) -> Callable[[Path], Path]:
    """A file that something has written."""

    def write(root: Path) -> Path:
        act(root)
        (file,) = root.glob(name)
        return file

    return write


def table(root: Path) -> Path:
    """A table with a row and a checkpoint at version 1, and a row behind it."""
    create_table(root, Schema.from_arrow(COLUMNS), {})
    for version in (1, 2):
        info = {"userMetadata": json.dumps({"headrace": {"query": "q", "batch": version, "rows": 1}})}
        added = parquet.write(root, f"f{version}.parquet", ROWS).to_add()
        put_entry(root, version, [{"commitInfo": info}, added])
        if version == 1:
            create_checkpoint(root)
    return root


DONE = 'v2\n{"nextBatchWatermarkMs":0}'


def begun(root: Path) -> None:
    """Offsets of a batch that is done and of one that is not."""
    for batch in (0, 1):
        durable.write(root / "offsets" / str(batch), OFFSETS)
    durable.write(root / "commits" / "0", DONE)


def done(root: Path) -> None:
    """Offsets of two batches that are done."""
    begun(root)
    durable.write(root / "commits" / "1", DONE)


def mended(root: Path, written: int = -1) -> tuple[int, int]:
    """The newest batches that Spark finds begun and done."""
    offset_log.mend(root, "2", written)
    begun, done = (
        max((int(file.name) for file in root.glob(f"{name}/*")), default=-1) for name in ("offsets", "commits")
    )
    assert (begun, done) == (offset_log.newest_begun(root), offset_log.newest_commit(root))
    return begun, done


@pytest.mark.parametrize(
    ("goes_down", "written", "batches"),
    [(False, 1, (2, 1)), (True, 0, (1, 0)), (True, 1, (1, 0)), (True, 2, (2, 1))],
)
def test_batch_whose_state_may_be_torn_is_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, goes_down: bool, written: int, batches: tuple[int, int]
) -> None:
    """The machine goes down after batch 1 is done and batch 2 has begun, or only the process ends."""
    offset_log.note_synced(tmp_path)
    done(tmp_path)
    durable.write(tmp_path / "offsets" / "2", OFFSETS)
    if goes_down:
        monkeypatch.setattr(durable, "boot", lambda: "the next one")
    assert mended(tmp_path, written) == batches
    offset_log.note_synced(tmp_path)
    assert mended(tmp_path) == batches


def swapped(queries: str = "q") -> str:
    return json.dumps({"queries": [queries], "beside": "b", "retired": "r", "until": "2026-11-28", "places": {}})


REFUSED = [
    Kind("entry of a log", after("_delta_log/*2.json", table), lambda root: actions_of(root, 2)),
    Kind("newest version", after("_delta_log/*2.json", table), open_table),
    Kind("checkpoint of a log", after("_delta_log/*1.checkpoint.parquet", table), open_table),
    Kind("data file", after("f1.parquet", table), lambda root: parquet.joined([root / "f1.parquet"])),
    Kind(
        "history", after("_history/*", lambda root: History(root).add([Commit(1)])), lambda root: History(root).find(1)
    ),
    Kind("ages of rows", after("_history/*", lambda root: retention.write(root, Ages())), retention.read),
    Kind(
        "files to remove",
        after("r/*", lambda root: Removals(root / "r").add(["f"], 0, 1)),
        lambda root: Removals(root / "r").remove(root, 1, None),
    ),
    Kind(
        "inputs", after("inputs/*", lambda root: InputLog(root).record(Inputs(1))), lambda root: InputLog(root).newest()
    ),
    Kind(
        "starts",
        after("*.json", lambda root: Starts(root).keep("t", Start("id", "latest", {0: 1}))),
        lambda root: Starts(root).find("t", "id", "latest"),
    ),
    Kind("note of a reset", after("*.json", lambda root: ResetNote().write(root)), resets.read_note),
    Kind(
        "journal of a reset",
        written("reset.json", '{"query": "q", "paths": [], "note": {"start": null, "barrier": {}}}'),
        lambda root: resets.finish(Layout(root)),
    ),
    Kind(
        "rebuild",
        after("rebuild/q/*", lambda root: Rebuild(("q",)).write(Layout(root))),
        lambda root: rebuilds.known(Layout(root)),
    ),
    Kind("journal of a swap", written("swap.json", swapped()), lambda root: swap.finish(Layout(root))),
    Kind("swap that is done", written("retired/r/swap.json", swapped()), lambda root: swap.retired(Layout(root))),
    Kind(
        "journal of a restore", written("restore.json", '{"from": "x"}'), lambda root: backup.refuse_half(Layout(root))
    ),
    Kind("manifest of a backup", written("backup.json", '{"format": 1}'), backup.manifest),
    Kind(
        "declaration of a query",
        written("checkpoints/q/declared.json", '{"declared": "d", "accepted": []}'),
        lambda root: declared.record_of(Layout(root), "q"),
    ),
    Kind(
        "declaration",
        written("declared/d.json", '{"models": [], "landings": [], "macros": []}'),
        lambda root: declared.read(Layout(root), "d"),
    ),
    Kind("names of streams", after("*.json", lambda root: source_names.note(root, {"a": "b"})), source_names.known),
    Kind("Spark's offsets", written("offsets/1", OFFSETS), lambda root: offset_log.read_of(root, 1)),
    Kind(
        "Spark's offsets of a batch that is done",
        after("offsets/1", done),
        lambda root: offset_log.read_of(root, offset_log.newest_begun(root)),
    ),
    Kind("status", written("status.json", "{}"), lambda root: status._read(root / "status.json")),
    Kind(
        "sizes of tables",
        after("*.json", lambda root: status.write_tables(Layout(root), [])),
        lambda root: status.read_tables(Layout(root)),
    ),
]

NOT_WRITTEN = [
    Kind("newest version of current rows", after("_delta_log/*2.json", table), is_whole),
    Kind("newest file of current rows", after("f2.parquet", table), is_whole),
    Kind("checkpoint of current rows", after("_delta_log/*1.checkpoint.parquet", table), is_whole),
    Kind("Spark's offsets of a new batch", after("offsets/1", begun), lambda root: mended(root)[0] == 1),
    Kind("Spark's newest commit", after("commits/1", done), lambda root: mended(root)[1] == 1),
    Kind(
        "note of a finished batch",
        after("inputs/finished", lambda root: (InputLog(root).record(Inputs(1)), InputLog(root).finish(1))),
        lambda root: InputLog(root).is_finished(1),
    ),
    Kind(
        "note of a streaming query",
        after("*.json", lambda root: positions.note_written(root, Position("a.b", 1, "id"))),
        lambda root: positions._noted(root, "a.b"),
    ),
    Kind(
        "manifest of keys", after("*.json", lambda root: keys(root).add([hashes()], 1)), lambda root: keys(root).open(1)
    ),
    Kind(
        "run of keys", after("*.parquet", lambda root: keys(root).add([hashes()], 1)), lambda root: keys(root).open(1)
    ),
    Kind(
        "filter of keys", after("*.bloom", lambda root: keys(root).add([hashes()], 1)), lambda root: keys(root).open(1)
    ),
]


def keys(root: Path) -> KeyRuns:
    return KeyRuns(root, {"of": "t"})


def hashes() -> pa.Table:
    return pa.Table.from_pylist([{"h1": n, "h2": n} for n in range(9)], SCHEMA)


def tear(file: Path, how: str) -> None:
    """Do to a file what a power loss, or a damaged disk, would."""
    data = file.read_bytes()
    file.write_bytes(
        {"empty": b"", "zeros": b"\0" * len(data), "half": data[: len(data) // 2], "garbage": b"\xff{]"}[how]
    )


HOW = ("empty", "zeros", "half", "garbage")


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("kind", REFUSED, ids=lambda kind: kind.name)
def test_torn_file_is_named_with_the_way_out(tmp_path: Path, kind: Kind, how: str) -> None:
    file = kind.write(tmp_path)
    tear(file, how)
    with pytest.raises(TornFile) as caught:
        kind.read(tmp_path)
    path, code, words = str(caught.value).split(": ", 2)
    what, remedy = words.split("; ", 1)
    assert (path, code) == (str(file), "torn-file")
    assert what == ("it is empty" if how == "empty" else what)
    assert remedy.split()[0] in ("remove", "restore", "a")


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("kind", NOT_WRITTEN, ids=lambda kind: kind.name)
def test_torn_note_counts_as_not_written(tmp_path: Path, kind: Kind, how: str) -> None:
    file = kind.write(tmp_path)
    assert kind.read(tmp_path)
    tear(file, how)
    assert not kind.read(tmp_path)


@pytest.mark.parametrize("cut", [0, 1])
def test_entry_cut_off_after_a_line_is_torn(tmp_path: Path, cut: int) -> None:
    """It is whole JSON, but has not the rows of which its marker speaks."""
    entry = table(tmp_path) / "_delta_log" / f"{2:020}.json"
    entry.write_bytes(b"".join(entry.read_bytes().splitlines(keepends=True)[:cut]))
    with pytest.raises(TornFile, match=entry.name):
        actions_of(tmp_path, 2)


@pytest.mark.parametrize("left", [b'{"row": 7, "ta', b"\0\0\0\0"])
def test_note_of_a_row_that_was_cut_off_is_written_again(tmp_path: Path, left: bytes) -> None:
    """The publisher dies while it notes rows that it sets aside; it has not sent the transaction."""
    file, whole = tmp_path / "n.ndjson", Notes(tmp_path / "whole.ndjson")
    rows = {("t", 1, 0): {"reason": "a"}, ("t", 1, 1): {"reason": "b"}}
    Notes(file).add({("t", 1, 0): {"reason": "a"}})
    with file.open("ab") as out:
        out.write(left)
    Notes(file).add(rows)
    whole.add(rows)
    assert file.read_bytes() == (tmp_path / "whole.ndjson").read_bytes()


OTHERS = ["null", "[]", "{}", '"x"', "1e999", "[" * 1500 + "]" * 1500, "[{}]", "[[1]]"]
"""JSON that none of these files holds."""


@pytest.mark.parametrize("kind", [*REFUSED, *NOT_WRITTEN], ids=lambda kind: kind.name)
def test_other_json_is_no_fault_of_ours(tmp_path: Path, kind: Kind) -> None:
    for number, text in enumerate(OTHERS):
        root = tmp_path / str(number)
        file = kind.write(root)
        if file.suffix != ".json":
            continue
        file.write_text(text, "utf-8")
        with suppress(HeadraceError):
            kind.read(root)


ELSEWHERE = ["../elsewhere", "tables/../../elsewhere", "/proc/elsewhere", ".", "", "a//b", None, 1, "a\0b", "\ud800"]


@pytest.mark.parametrize("path", [*ELSEWHERE, ["a"]])
def test_journal_of_a_reset_removes_nothing_elsewhere(tmp_path: Path, monkeypatch, path: object) -> None:
    removed = list[object]()
    monkeypatch.setattr(trees, "remove", removed.append)
    journal = {"query": "q", "paths": [path], "note": {"start": None, "barrier": {}}}
    for damaged in (journal, {**journal, "paths": "../.."}, {**journal, "query": path, "paths": []}):
        durable.write(tmp_path / "reset.json", json.dumps(damaged))
        with pytest.raises(TornFile, match=r"reset\.json.*headrace reset"):
            resets.finish(Layout(tmp_path))
    assert removed == []


@pytest.mark.parametrize("path", ELSEWHERE)
@pytest.mark.parametrize("key", ["beside", "retired", "places", "until"])
def test_journal_of_a_swap_moves_nothing_elsewhere(tmp_path: Path, monkeypatch, key: str, path: object) -> None:
    moved = list[object]()
    monkeypatch.setattr(swap, "_take_over", lambda *paths: moved.append(paths))
    monkeypatch.setattr(trees, "remove", moved.append)
    damaged = {**json.loads(swapped()), key: {path: None} if key == "places" and isinstance(path, str) else path}
    durable.write(tmp_path / "swap.json", json.dumps(damaged))
    with pytest.raises(TornFile, match=r"swap\.json.*headrace restore"):
        swap.finish(Layout(tmp_path))
    assert moved == []


@pytest.mark.parametrize("queries", [*([path] for path in ELSEWHERE), [], "q", None])
def test_rebuild_has_its_folder_among_the_rebuilds(tmp_path: Path, queries: object) -> None:
    note = {"queries": queries, "filled_at": None, "batches": {}}
    durable.write(tmp_path / "rebuild" / "q" / "rebuild.json", json.dumps(note))
    with pytest.raises(TornFile, match="headrace rebuild"):
        rebuilds.known(Layout(tmp_path))


@pytest.mark.parametrize("name", ["../elsewhere.parquet", "%2e%2e/elsewhere.parquet", "/proc/elsewhere.parquet"])
def test_note_of_files_removes_nothing_elsewhere(tmp_path: Path, monkeypatch, name: str) -> None:
    gone = list[Path]()
    monkeypatch.setattr(Path, "unlink", lambda file, missing_ok=False: gone.append(file))
    removals = Removals(table(tmp_path / "t") / "_history" / "removed")
    removals.add([name, "f9.parquet"], 0.0, 1)
    removals.remove(tmp_path / "t", 1e9, None)
    assert [file.name for file in gone if file.suffix == ".parquet"] == ["f9.parquet"]


def test_torn_lease_of_a_bucket_is_refused() -> None:
    file = buckets.in_memory() / "lease.json"
    file.write_text('{"owner": "a"')
    with pytest.raises(TornFile, match=r"lease\.json"):
        ObjectLease(file).take()


def test_checkpoint_is_whole_and_leaves_nothing_else(tmp_path: Path) -> None:
    create_checkpoint(table(tmp_path))
    assert {file.name for file in tmp_path.iterdir()} == {"_delta_log", "f1.parquet", "f2.parquet"}
    assert json.loads((tmp_path / "_delta_log" / "_last_checkpoint").read_text())["version"] == 2
    assert open_table(tmp_path).to_pyarrow_table().num_rows == 2
