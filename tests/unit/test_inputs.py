"""The log of a group's recorded inputs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import obstore
import pytest

from headrace.errors import Overtaken
from headrace.queries.inputs import KEEP, InputLog, Inputs
from headrace.store.paths import StorePath
from tests import buckets


@pytest.fixture(params=["disk", "bucket"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> StorePath:
    return tmp_path if request.param == "disk" else buckets.in_memory() / "checkpoint"


def test_batch_is_unfinished_until_it_is_noted(folder: StorePath) -> None:
    log = InputLog(folder)
    log.record(Inputs(3))
    before = log.is_finished(3)
    log.finish(3)
    assert (before, log.is_finished(3), log.is_finished(4)) == (False, True, False)


def test_note_of_a_finished_batch_is_no_batch(folder: StorePath) -> None:
    log = InputLog(folder)
    log.record(Inputs(3, {"a": (1, 2)}))
    log.finish(3)
    assert log.newest() == Inputs(3, {"a": (1, 2)})


def test_old_inputs_go_with_their_revisions(folder: StorePath) -> None:
    log = InputLog(folder)
    for batch in range(KEEP + 2):
        log.record(Inputs(batch))
        log.revise(Inputs(batch, {"a": (1, 2)}))
    assert len([*(folder / "inputs").glob("*.json")]) == 2 * KEEP


def test_inputs_of_a_former_run_go(folder: StorePath) -> None:
    former, log = InputLog(folder), InputLog(folder)
    former.record(Inputs(0))
    former.revise(Inputs(0, {"a": (1, 2)}))
    log.newest()
    log.record(Inputs(KEEP))
    assert log.newest() == Inputs(KEEP) and len([*(folder / "inputs").glob("*.json")]) == 1


def test_newest_revision_counts(folder: StorePath) -> None:
    log, other = InputLog(folder), InputLog(folder)
    log.record(Inputs(9))
    for upto in range(12):
        log.revise(Inputs(9, {"a": (1, upto)}))
    log.finish(9)
    assert (other.newest(), other.last_finished()) == (Inputs(9, {"a": (1, 11)}),) * 2


def test_batch_that_only_a_commit_knew_is_recorded(folder: StorePath) -> None:
    log = InputLog(folder)
    log.revise(Inputs(3))
    assert log.newest() == Inputs(3)


def test_other_inputs_of_a_batch_are_refused(folder: StorePath) -> None:
    InputLog(folder).record(Inputs(3, {"a": (1, 2)}))
    with pytest.raises(Overtaken, match="batch 3"):
        InputLog(folder).record(Inputs(3, {"a": (1, 5)}))
    assert InputLog(folder).newest() == Inputs(3, {"a": (1, 2)})


def test_other_revision_of_a_batch_is_refused(folder: StorePath) -> None:
    log, other = InputLog(folder), InputLog(folder)
    log.record(Inputs(3))
    other.newest()
    log.revise(Inputs(3, {"a": (1, 2)}))
    with pytest.raises(Overtaken, match="batch 3"):
        other.revise(Inputs(3, {"a": (1, 5)}))


def test_same_inputs_of_a_batch_are_accepted(folder: StorePath) -> None:
    log, other = InputLog(folder), InputLog(folder)
    for each in (log, other):
        each.record(Inputs(3, {"a": (1, 2), "b": (3, 4)}))
    log.revise(Inputs(3))
    other.revise(Inputs(3))
    assert log.newest() == Inputs(3)


def test_answer_that_was_lost_is_no_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(obstore, "put", buckets.late_answers(obstore.put))
    log = InputLog(buckets.in_memory())
    log.record(Inputs(3))
    log.revise(Inputs(3, {"a": (1, 2)}))
    assert log.newest() == Inputs(3, {"a": (1, 2)})


def test_small_batch_is_one_write_and_one_removal(monkeypatch: pytest.MonkeyPatch) -> None:
    log, calls = InputLog(buckets.in_memory()), list[str]()
    for batch in range(KEEP):
        log.record(Inputs(batch))
    for name in ("put", "get", "head", "list", "list_with_delimiter", "delete"):
        monkeypatch.setattr(obstore, name, _counted(name, calls))
    log.record(Inputs(KEEP))
    assert calls == ["put", "delete"]


def _counted(name: str, calls: list[str]) -> Callable[..., Any]:
    real = getattr(obstore, name)

    def counted(*words: Any, **named: Any) -> Any:
        calls.append(name)
        return real(*words, **named)

    return counted
