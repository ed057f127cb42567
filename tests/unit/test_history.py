"""The history of a table: every commit is found, by a reader that came before too, and no file or merge grows on."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from headrace.store import history
from headrace.store.commits import Commit
from headrace.store.history import History
from tests.buckets import in_memory


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Segments of a tenth of their size, so that there are many."""
    monkeypatch.setattr(history, "LARGE", 100)


def commits(first: int, upto: int) -> list[Commit]:
    return [Commit(version, {"batch": version, "query": "q"}, (), 10 * version) for version in range(first, upto)]


def batches(found: History, upto: int) -> list[int]:
    return [past.marker["batch"] if (past := found.find(version)) else -1 for version in range(upto)]


@pytest.mark.long
@pytest.mark.parametrize(
    "sizes", [[7] * 200, [250, *[30] * 40], [1] * 300, [1000]], ids=["7", "large first", "1", "1000"]
)
def test_every_commit_is_found_and_segments_stay_small(tmp_path: Path, sizes: list[int]) -> None:
    past, upto = History(tmp_path), 0
    for size in sizes:
        past = past.add(commits(upto, upto + size))
        upto += size
    assert (past.upto, past.find(upto)) == (upto - 1, None)
    assert batches(past, upto) == [*range(upto)]
    assert (past.find(3), past.find(4)) == (commits(3, 4)[0].as_past, commits(4, 5)[0].as_past)
    files = [*past.folder.iterdir()]
    assert len(files) <= history.SEGMENTS + upto / history.LARGE


def test_large_segments_are_not_written_again(tmp_path: Path) -> None:
    past = History(tmp_path).add(commits(0, 100))
    (first,) = past.folder.iterdir()
    before = first.stat().st_ino
    for upto in range(100, 1000, 30):
        past = past.add(commits(upto, upto + 30))
    assert first.stat().st_ino == before


def test_reader_from_before_finds_what_has_become_one(tmp_path: Path) -> None:
    past = History(tmp_path).add(commits(0, 20))
    before = past.add(commits(20, 40))
    assert before.find(5)
    now = before
    for upto in range(40, 400, 20):
        now = now.add(commits(upto, upto + 20))
    assert batches(before, 40) == [*range(40)]


def test_what_a_merge_has_left_behind_hides_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A merge that dies at a removal leaves files whose commits others hold too; later merges span what is between."""
    random, past, upto = Random(3), History(tmp_path), 0
    unlink = Path.unlink

    def dying(self: Path, missing_ok: bool = False) -> None:
        if random.random() < 0.2:
            raise InterruptedError
        unlink(self, missing_ok)

    monkeypatch.setattr(Path, "unlink", dying)
    for _ in range(80):
        try:
            past = past.add(commits(upto, upto + 13))
        except InterruptedError:
            past = History(tmp_path)
        upto += 13
    assert batches(History(tmp_path), upto) == [*range(upto)]


def test_history_of_a_bucket_is_the_same() -> None:
    root = in_memory()
    past = History(root)
    for upto in range(0, 400, 20):
        past = past.add(commits(upto, upto + 20))
    assert batches(past, 400) == [*range(400)]
