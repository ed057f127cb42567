"""The log of a group's recorded inputs."""

from __future__ import annotations

from pathlib import Path

from headrace.queries.inputs import KEEP, InputLog, Inputs


def test_batch_is_unfinished_until_it_is_noted(tmp_path: Path) -> None:
    log = InputLog(tmp_path)
    log.record(Inputs(3))
    before = log.is_finished(3)
    log.finish(3)
    assert (before, log.is_finished(3), log.is_finished(4)) == (False, True, False)


def test_note_of_a_finished_batch_is_no_batch(tmp_path: Path) -> None:
    log = InputLog(tmp_path)
    log.record(Inputs(3, {"a": (1, 2)}))
    log.finish(3)
    assert log.newest() == Inputs(3, {"a": (1, 2)})


def test_old_inputs_go(tmp_path: Path) -> None:
    log = InputLog(tmp_path)
    for batch in range(KEEP + 2):
        log.record(Inputs(batch))
    assert len([*(tmp_path / "inputs").glob("*.json")]) == KEEP
