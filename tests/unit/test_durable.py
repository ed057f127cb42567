"""Files that survive a crash: whole or not there, and never in the place of another's."""

from __future__ import annotations

import errno
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from headrace.faults import describe
from headrace.store import durable


def test_write_replaces_what_was_there(tmp_path: Path) -> None:
    file = tmp_path / "new" / "note.json"
    for text in ("a", "é漢"):
        durable.write(file, text)
        assert file.read_text("utf-8") == text
    assert [*file.parent.iterdir()] == [file]


def test_new_file_takes_no_other_ones_place(tmp_path: Path) -> None:
    file = tmp_path / "entry.json"
    durable.write_new(file, "first")
    with pytest.raises(FileExistsError):
        durable.write_new(file, "second")
    assert file.read_text("utf-8") == "first"
    assert [*tmp_path.iterdir()] == [file]


def test_of_many_writers_one_wins(tmp_path: Path) -> None:
    file = tmp_path / "entry.json"

    def wins(number: int) -> bool:
        try:
            durable.write_new(file, str(number))
        except FileExistsError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        found = [*pool.map(wins, range(40))]
    assert found.count(True) == 1 and file.read_text("utf-8") == str(found.index(True))
    assert [*tmp_path.iterdir()] == [file]


@pytest.mark.parametrize("write", [durable.write, durable.write_new, durable.note])
@pytest.mark.parametrize("fails", ["write_bytes", "fsync"])
def test_full_disk_is_left_no_fuller(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Any, fails: str) -> None:
    """A query tries again every half a minute, and each attempt would leave a part of a file."""
    file, full = tmp_path / "note.json", OSError(errno.ENOSPC, "No space left on device")

    def half(draft: Path, data: bytes) -> int:
        with draft.open("wb") as out:
            out.write(data[:1])
        raise full

    def unsynced(_: int) -> None:
        raise full

    durable.write(file, "old") if write != durable.write_new else None
    before = [*tmp_path.iterdir()]
    if fails == "write_bytes":
        monkeypatch.setattr(Path, "write_bytes", half)
    elif write != durable.note:
        monkeypatch.setattr(durable.os, "fsync", unsynced)
    else:
        monkeypatch.setattr(Path, "replace", lambda *_: unsynced(0))
    with pytest.raises(OSError, match="No space left") as failed:
        write(file, "new")
    assert [*tmp_path.iterdir()] == before
    assert str(describe(failed.value)).startswith(f"{file}: No space left on device; free some space")


def test_full_disk_is_named_where_lines_are_added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(durable.os, "fsync", full)
    with pytest.raises(OSError) as failed:
        durable.append(tmp_path / "notes.ndjson", ["{}"])
    assert str(describe(failed.value)).startswith(f"{tmp_path / 'notes.ndjson'}: No space left")
