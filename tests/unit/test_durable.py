"""Files that survive a crash: whole or not there, and never in the place of another's."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

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
