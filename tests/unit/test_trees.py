"""Whole folders of an object store: copied, moved and removed several files at a time, and broken off anywhere."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import obstore
import pytest
from obstore.exceptions import GenericError

from headrace.errors import EnvironmentFault
from headrace.store import durable, trees
from headrace.store.paths import ObjectPath, StorePath
from tests import buckets

ENTRIES = [f"_delta_log/{version:020}.json" for version in range(6)]
CHECKPOINT = f"_delta_log/{3:020}.checkpoint.parquet"
NEW = [*(f"batch-{number}/{number}.parquet" for number in range(6)), "_history/0-2.parquet", *ENTRIES]
"""The files of a young table; of an old one, whose log was shortened, see `OLD`."""

OLD = [file for file in NEW if file not in ENTRIES[:3]] + [CHECKPOINT, "_delta_log/_last_checkpoint"]


@pytest.fixture(params=[NEW, OLD], ids=["new", "old"])
def files(request: pytest.FixtureRequest) -> Sequence[str]:
    """The files of a table."""
    return list(request.param)


@pytest.fixture(autouse=True)
def in_turn(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """One request at a time, so that it is known what a failure leaves; the files of each stage in the listed order."""
    if "files" in request.fixturenames:
        monkeypatch.setattr(trees, "_REQUESTS", 1)
        monkeypatch.setattr(trees, "_KEYS", 1)


def stored(folder: ObjectPath, files: Sequence[str]) -> ObjectPath:
    for file in files:
        (folder / file).write_text(file)
    return folder


def names(folder: ObjectPath) -> set[str]:
    return {str(file.relative_to(folder)) for file in folder.files()}


def newest(found: set[str]) -> int:
    """The version at which a reader finds a table, by the protocol; -1 where there is none that can be read."""
    begins = [0] * (ENTRIES[0] in found) + [3] * (CHECKPOINT in found)
    version = max(begins, default=-1)
    while version >= 0 and version + 1 < len(ENTRIES) and ENTRIES[version + 1] in found:
        version += 1
    return version


def failing(work: Callable[..., Any], after: int) -> Callable[..., Any]:
    """A request that the store refuses after some."""
    left = iter(range(after))

    def tried(*words: Any, **named: Any) -> Any:
        if next(left, None) is None:
            raise GenericError("the store is away")
        return work(*words, **named)

    return tried


def test_broken_move_never_leaves_half_a_table(files: Sequence[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for after in range(len(files)):
        live = stored(buckets.in_memory() / "live", files)
        with monkeypatch.context() as patched, pytest.raises(EnvironmentFault, match="the store is away"):
            patched.setattr(obstore, "copy", failing(obstore.copy, after))
            trees.move(live, live.parent / "retired")
        copied = names(live.parent / "retired")
        assert (names(live), newest(copied) in (-1, 5), len(copied)) == ({*files}, True, after)
        assert newest(copied) == -1 or {file for file in files if "_delta_log" not in file} <= copied
        trees.move(live, live.parent / "retired")
        assert (names(live), names(live.parent / "retired")) == (set(), {*files})


def test_broken_removal_never_leaves_half_a_table(files: Sequence[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for after in range(len(files)):
        live = stored(buckets.in_memory() / "live", files)
        with monkeypatch.context() as patched, pytest.raises(EnvironmentFault, match="the store is away"):
            patched.setattr(obstore, "delete", failing(obstore.delete, after))
            trees.remove(live)
        left = names(live)
        assert (len(left), newest(left) == -1 or {*files} - left <= {CHECKPOINT, ENTRIES[0]}) == (
            len(files) - after,
            True,
        )
        trees.remove(live)
        assert names(live) == set()


def test_move_that_was_broken_off_goes_on(files: Sequence[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for after in range(len(files)):
        live = stored(buckets.in_memory() / "live", files)
        with monkeypatch.context() as patched, pytest.raises(EnvironmentFault):
            patched.setattr(obstore, "delete", failing(obstore.delete, after))
            trees.move(live, live.parent / "retired")
        trees.move(live, live.parent / "retired")
        assert (names(live), names(live.parent / "retired")) == (set(), {*files})


def test_files_are_copied_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    folder, copy, together = stored(buckets.in_memory() / "a", [str(n) for n in range(16)]), obstore.copy, 8
    meeting = threading.Barrier(together)

    def copied(*words: Any, **named: Any) -> None:
        meeting.wait(timeout=60)
        copy(*words, **named)

    monkeypatch.setattr(obstore, "copy", copied)
    trees.copy(folder, folder.parent / "b")
    assert names(folder.parent / "b") == names(folder)


def test_failure_begins_nothing_more(monkeypatch: pytest.MonkeyPatch) -> None:
    folder, asked = stored(buckets.in_memory() / "a", [f"{number}" for number in range(9)]), list[str]()

    def refuses(_: Any, source: str, *__: Any) -> None:
        asked.append(source)
        raise GenericError("the store is away")

    monkeypatch.setattr(trees, "_REQUESTS", 1)
    monkeypatch.setattr(obstore, "copy", refuses)
    with pytest.raises(EnvironmentFault, match="the store is away"):
        trees.copy(folder, folder.parent / "b")
    assert asked == ["a/0"]


@pytest.mark.parametrize("set_by", [-86_400, 0, 86_400])
def test_what_changed_is_synced_also_where_the_clock_was_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, set_by: int
) -> None:
    """Files bear the time of the clock as it is set when they are written."""
    written, synced = tmp_path / "offsets", list[Path]()
    written.write_text("0")
    began = trees.Instant(written.stat().st_ctime - 10 - set_by, 100)
    monkeypatch.setattr(trees.Instant, "now", lambda: trees.Instant(written.stat().st_ctime, 110))
    monkeypatch.setattr(durable, "sync", lambda paths, **_: synced.extend(paths))
    trees.sync_changed(tmp_path, began)
    assert written in synced


def test_what_has_not_changed_is_not_synced_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written, synced = tmp_path / "offsets", list[Path]()
    written.write_text("0")
    began = trees.Instant(written.stat().st_ctime + 10, 100)
    monkeypatch.setattr(trees.Instant, "now", lambda: trees.Instant(began.clock + 10, 110))
    monkeypatch.setattr(durable, "sync", lambda paths, **_: synced.extend(paths))
    trees.sync_changed(tmp_path, began)
    assert written not in synced


@pytest.mark.parametrize("root", [Path("/"), Path("/tmp/.."), buckets.in_memory()])
def test_root_is_never_removed(root: StorePath, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.rmtree", lambda folder: pytest.fail(f"{folder} would have been removed"))
    monkeypatch.setattr(ObjectPath, "objects", lambda folder: pytest.fail(f"{folder} would have been emptied"))
    with pytest.raises(ValueError, match="is a root"):
        trees.remove(root)


@pytest.mark.parametrize("target", ["elsewhere", "nowhere", "link", "/"])
def test_of_a_link_only_the_link_goes(tmp_path: Path, target: str) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "file").write_text("somebody else's")
    (tmp_path / "link").symlink_to(target)
    trees.remove(tmp_path / "link")
    assert [file.name for file in tmp_path.rglob("*")] == ["elsewhere", "file"]
