"""headrace reset: what it refuses, before it says or removes anything."""

from __future__ import annotations

import json
from typing import Any

import pytest

from headrace import cli
from headrace.commands.edits import resetting
from headrace.commands.workspace import Workspace
from headrace.errors import ExitCode, Locked, UsageError
from headrace.project.resets import read_note
from headrace.store import lease
from headrace.store.layout import Layout
from tests.unit.conftest import ProjectFiles

BRONZE = "sql/bronze/shipping.yml"


@pytest.fixture
def layout(project_files: ProjectFiles) -> Layout:
    """Something has landed; source `manufactured` is topic `made-v1`."""
    project_files.edit(BRONZE, "  manufactured:\n", "  manufactured:\n    topic: made-v1\n")
    layout = Layout(project_files.root / "data")
    layout.landing("shipping").mkdir(parents=True)
    return layout


@pytest.fixture
def workspace(project_files: ProjectFiles, layout: Layout) -> Workspace:
    return Workspace(project_files.root, "local")


def begin(workspace: Workspace, start: Any, yes: bool = True, query: str = "ingest_shipping") -> int:
    text = start if isinstance(start, str) else json.dumps(start)
    return resetting.reset(workspace, query, yes, text, False)


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        ("latest", "latest"),
        ({"orders": {"0": 120, "1": 0}}, {"orders": {"0": 120, "1": 0}}),
        ({"made-v1": {"0": 1}, "orders": {"0": 2}}, {"made-v1": {"0": 1}, "orders": {"0": 2}}),
        ({"manufactured": {"0": 1}}, {"made-v1": {"0": 1}}),
    ],
)
def test_landing_begins_where_it_is_set(workspace: Workspace, layout: Layout, start: Any, expected: Any) -> None:
    assert begin(workspace, start) == ExitCode.OK
    assert read_note(layout.checkpoint("ingest_shipping")).start == expected
    assert not layout.landing("shipping").exists()


@pytest.mark.parametrize("yes", [True, False])
@pytest.mark.parametrize(
    "start",
    [
        "",
        "sometime",
        "5",
        "null",
        "[]",
        {},
        {"ordrs": {"0": 120}},
        {"orders": {"0": 1}, "payments": {"0": 1}},
        {"orders": {}},
        {"orders": 5},
        {"orders": {"0": -5}},
        {"orders": {"0": "120"}},
        {"orders": {"0": 1.5}},
        {"orders": {"0": True}},
        {"orders": {"0": None}},
        {"orders": {"-1": 5}},
        {"orders": {"first": 5}},
        {"orders": {"0.5": 5}},
        {"manufactured": {"0": 1}, "made-v1": {"0": 2}},
    ],
)
def test_wrong_start_changes_and_says_nothing(
    workspace: Workspace, layout: Layout, capsys: pytest.CaptureFixture[str], start: Any, yes: bool
) -> None:
    with pytest.raises(UsageError, match="--from"):
        begin(workspace, start, yes)
    assert (layout.landing("shipping").exists(), capsys.readouterr()) == (True, ("", ""))


@pytest.mark.parametrize(
    ("start", "near"),
    [
        ({"ordrs": {"0": 1}}, "orders"),
        ({"manufacturd": {"0": 1}}, "manufactured"),
        ({"made-v2": {"0": 1}}, "made-v1"),
        ("earlyest", "earliest"),
    ],
)
def test_misspelt_start_has_advice(workspace: Workspace, start: Any, near: str) -> None:
    with pytest.raises(UsageError) as caught:
        begin(workspace, start)
    assert str(caught.value).endswith(f" Did you mean {near}?")


@pytest.mark.parametrize("yes", [True, False])
@pytest.mark.parametrize("start", ["earliest", {"orders": {"0": 1}}])
def test_only_a_landing_takes_a_start(
    workspace: Workspace, layout: Layout, capsys: pytest.CaptureFixture[str], start: Any, yes: bool
) -> None:
    layout.checkpoint("shipping").mkdir(parents=True)
    with pytest.raises(UsageError, match="reset its landing"):
        begin(workspace, start, yes, "shipping")
    assert (layout.checkpoint("shipping").exists(), capsys.readouterr()) == (True, ("", ""))


def test_dry_run_only_says_what_would_go(
    workspace: Workspace, layout: Layout, capsys: pytest.CaptureFixture[str]
) -> None:
    assert begin(workspace, {"orders": {"0": 1}}, yes=False) == ExitCode.OK
    assert capsys.readouterr().err.splitlines()[0] == f"would remove {layout.landing('shipping')}"
    assert layout.landing("shipping").exists()


def test_nothing_is_announced_while_a_runner_is_running(
    workspace: Workspace, layout: Layout, capsys: pytest.CaptureFixture[str]
) -> None:
    with lease.held(layout), pytest.raises(Locked):
        begin(workspace, "earliest")
    assert (layout.landing("shipping").exists(), capsys.readouterr().err) == (True, "")


def test_wrong_start_is_code_2(workspace: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        cli.main(["-C", str(workspace.folder), "reset", "ingest_shipping", "--from", '{"ordrs": {"0": 120}}'])
    assert (caught.value.code, capsys.readouterr().err.count("\n")) == (ExitCode.USAGE, 1)
