"""Commits of two runners to one table: each batch is there once, and whoever comes second is told."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast

import pytest
from pyspark.sql.types import StructType

from headrace.errors import Overtaken
from headrace.spark.failures import passes
from headrace.store import durable
from headrace.tables import delta
from headrace.tables.delta import CommitTable

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

    def repeated(file: Path, text: str) -> None:
        write_new(file, text)
        write_new(file, text)

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
    monkeypatch.setattr(delta, "actions_of", None)
    for batch in (1, 2, 3):
        table.note(marked(batch))
        newest = table.newest_marker("q")
        assert newest is not None and newest.batch == batch


@pytest.mark.parametrize("error", [Overtaken("done"), RuntimeError("...\nheadrace.errors.Overtaken: done")])
def test_overtaken_query_starts_again_from_what_is_stored(error: Exception) -> None:
    assert passes(error)
