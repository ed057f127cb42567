"""A store says whose it is: another project, and an older headrace, leave it alone."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headrace.commands.edits import backups, resetting
from headrace.commands.workspace import Workspace
from headrace.environment import owner
from headrace.errors import EnvironmentFault
from headrace.project.declarations.targets.references import DATA_DIR_VARIABLE
from headrace.store.layout import Layout
from headrace.store.paths import StorePath
from tests import buckets

ROOT = Path(__file__).parents[2]


@pytest.fixture(params=["disk", "bucket"])
def layout(request: pytest.FixtureRequest, tmp_path: Path) -> Layout:
    return Layout(tmp_path / "data", buckets.in_memory() / "shop" if request.param == "bucket" else None)


def test_store_is_of_the_project_that_ran_first(layout: Layout) -> None:
    owner.refuse(layout, "shop")
    owner.claim(layout, "shop")
    owner.claim(layout, "shop")
    for ask in (owner.refuse, owner.claim):
        with pytest.raises(EnvironmentFault, match=r"shop, and this one is mail: .*data_dir.*project\.json"):
            ask(layout, "mail")
    owner.refuse(layout, "shop")


def test_store_of_a_newer_headrace_is_refused(layout: Layout) -> None:
    owner.claim(layout, "shop")
    newer = {**json.loads(layout.owner.read_bytes()), "format": 2}
    layout.owner.write_text(json.dumps(newer))
    with pytest.raises(EnvironmentFault, match="written by a newer headrace"):
        owner.refuse(layout, "shop")


COMMANDS: list[Callable[[Workspace], Any]] = [
    lambda workspace: workspace.layout,
    lambda workspace: resetting.reset(workspace, "shipping", yes=True, start=None, republish=True),
    lambda workspace: backups.take(workspace, "elsewhere"),
    lambda workspace: backups.put_back(workspace, "elsewhere", True, None),
]


@pytest.mark.parametrize("command", COMMANDS, ids=["any", "reset", "backup", "restore"])
def test_commands_leave_the_data_of_another_project_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Callable[[Workspace], Any]
) -> None:
    layout = Layout(tmp_path / "data")
    owner.claim(layout, "shop")
    monkeypatch.setenv(DATA_DIR_VARIABLE, str(layout.data_dir))
    with pytest.raises(EnvironmentFault, match="the project shop"):
        command(Workspace(ROOT, "test"))
    assert files(layout.root) == ["project.json"]


@pytest.mark.parametrize("name", ["", "tables", "checkpoints"])
@pytest.mark.parametrize("kind", ["file", "lost link"])
def test_folder_that_is_none_is_no_empty_one(tmp_path: Path, name: str, kind: str) -> None:
    """A link to a disk that is not mounted would look as if nothing had been stored yet."""
    folder = tmp_path / "data" / name
    folder.parent.mkdir(exist_ok=True)
    folder.write_text("") if kind == "file" else folder.symlink_to(tmp_path / "unmounted")
    with pytest.raises(EnvironmentFault, match=f"{folder} is a file, or a link"):
        owner.refuse(Layout(tmp_path / "data"), "shop")
    folder.unlink()
    (tmp_path / "elsewhere").mkdir()
    folder.symlink_to(tmp_path / "elsewhere")
    owner.refuse(Layout(tmp_path / "data"), "shop")


def files(root: StorePath) -> list[str]:
    return [file.name for file in root.glob("*")]
