"""headrace skip: only the batch that waits to be run again is stepped over, and a note is left."""

from __future__ import annotations

import pytest

from headrace.commands.edits.skipping import skip
from headrace.commands.workspace import Workspace
from headrace.errors import ExitCode, Locked, UsageError
from headrace.project import skips
from headrace.project.skips import Skip
from headrace.queries.inputs import InputLog, Inputs
from headrace.store import lease
from headrace.store.layout import Layout
from tests.unit.conftest import ProjectFiles


@pytest.fixture
def workspace(project_files: ProjectFiles) -> Workspace:
    return Workspace(project_files.root, "local")


@pytest.fixture
def log(workspace: Workspace) -> InputLog:
    """Batch 3 is finished, batch 4 was begun."""
    found = InputLog(workspace.layout.checkpoint("shipping"))
    found.record(Inputs(3, {"_landing.shipping": (0, 4)}))
    found.finish(3)
    found.record(Inputs(4, {"_landing.shipping": (4, 6), "silver.other": (2, 2)}))
    return found


def skipped(layout: Layout) -> list[tuple[int, object]]:
    return [(each.batch, each.ranges) for each in skips.noted(layout, ["shipping"])]


def test_batch_is_finished_and_noted(workspace: Workspace, log: InputLog, capsys: pytest.CaptureFixture[str]) -> None:
    assert skip(workspace, "shipping", 4) == ExitCode.OK
    assert log.is_finished(4) and log.newest() == log.last_finished()
    assert skipped(workspace.layout) == [(4, {"_landing.shipping": (4, 6)})]
    assert "shipping has skipped batch 4: 0 rows, versions _landing.shipping 5 to 6" in capsys.readouterr().err


def test_skip_that_broke_off_is_finished(workspace: Workspace, log: InputLog, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as broken:
        broken.setattr(InputLog, "finish", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            skip(workspace, "shipping", 4)
    assert skip(workspace, "shipping", 4) == ExitCode.OK
    assert log.is_finished(4) and len(skipped(workspace.layout)) == 1


def test_batch_that_runs_after_all_counts_as_skipped_no_more(workspace: Workspace, log: InputLog) -> None:
    layout = workspace.layout
    skips.note(layout, Skip("shipping", 4, "2026-01-01", {}, 0))
    skips.forget(layout, "shipping", 4)
    skips.forget(layout, "shipping", 4)
    assert skipped(layout) == []


@pytest.mark.parametrize("batch", [0, 3, 5])
def test_no_other_batch_is_skipped(workspace: Workspace, log: InputLog, batch: int) -> None:
    with pytest.raises(UsageError, match="only batch 4 of shipping can be skipped"):
        skip(workspace, "shipping", batch)
    assert not log.is_finished(4) and skipped(workspace.layout) == []


def test_finished_batch_is_not_skipped(workspace: Workspace, log: InputLog) -> None:
    log.finish(4)
    with pytest.raises(UsageError, match="all of them are finished, up to 4"):
        skip(workspace, "shipping", 4)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("shiping", "Did you mean shipping"),
        ("ingest_shipping", "What a landing cannot read"),
        ("shipping", "it has run none yet"),
    ],
)
def test_what_has_no_batch_to_skip_says_so(workspace: Workspace, query: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        skip(workspace, query, 0)


def test_runner_must_be_stopped(workspace: Workspace, log: InputLog) -> None:
    with lease.held(workspace.layout), pytest.raises(Locked):
        skip(workspace, "shipping", 4)
