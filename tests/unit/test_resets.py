"""A reset: whole, also if the process dies before or after any of its steps."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from headrace.commands.workspace import Workspace
from headrace.project import resets
from headrace.project.declarations.targets.references import DATA_DIR_VARIABLE
from headrace.project.resets import ResetNote, read_note
from headrace.store import trees
from headrace.store.layout import Layout

ROOT = Path(__file__).parents[2]
NOTE = ResetNote("earliest", {"silver.a": 7})
FOLDERS = ("checkpoints/q/state/0", "checkpoints/q/offsets", "tables/gold/a/_delta_log", "tables/gold/other")
REMOVED = ("checkpoints/q", "tables/gold/a", "tables/_changes/gold.a")


class Died(Exception):
    """The process dies here."""


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    for folder in FOLDERS:
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "file").write_text("something")
    return Layout(tmp_path)


def reset(layout: Layout) -> None:
    resets.reset(layout, "q", [layout.data_dir / path for path in REMOVED], NOTE)


def assert_reset(layout: Layout) -> None:
    files = {str(path.relative_to(layout.data_dir)) for path in layout.data_dir.glob("[ct]*/**/*") if path.is_file()}
    assert files == {"checkpoints/q/reset.json", "tables/gold/other/file"}
    assert not layout.reset.exists()
    assert read_note(layout.checkpoint("q")) == NOTE


def test_only_the_note_is_left(layout: Layout) -> None:
    reset(layout)
    assert_reset(layout)


@pytest.mark.parametrize("removed", range(2))
@pytest.mark.parametrize("files", range(3))
def test_whoever_comes_next_does_the_rest(
    layout: Layout, monkeypatch: pytest.MonkeyPatch, removed: int, files: int
) -> None:
    """The process dies while it removes one of the folders, when some files of it are gone."""
    _die(monkeypatch, removed, files)
    with pytest.raises(Died):
        reset(layout)
    monkeypatch.undo()
    resets.finish(layout)
    assert_reset(layout)
    resets.finish(layout)
    assert_reset(layout)


def test_next_command_does_the_rest(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    _die(monkeypatch, 0, 1)
    with pytest.raises(Died):
        reset(layout)
    monkeypatch.undo()
    monkeypatch.setenv(DATA_DIR_VARIABLE, str(layout.data_dir))
    assert Workspace(ROOT, "test").layout == layout
    assert_reset(layout)


def test_death_before_the_journal_changes_nothing(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    def write(*words: Any) -> None:
        raise Died

    monkeypatch.setattr(resets, "_write", write)
    with pytest.raises(Died):
        reset(layout)
    monkeypatch.undo()
    resets.finish(layout)
    assert all((layout.data_dir / folder / "file").exists() for folder in FOLDERS)


def _die(monkeypatch: pytest.MonkeyPatch, removed: int, files: int) -> None:
    """Let the process die in the removal of a folder, after some of its files."""
    left, work = [removed], shutil.rmtree

    def rmtree(path: Path) -> None:
        left[0] -= 1
        if left[0] >= 0:
            return work(path)
        for file in [file for file in sorted(path.rglob("*")) if file.is_file()][:files]:
            file.unlink()
        raise Died

    monkeypatch.setattr(trees.shutil, "rmtree", rmtree)
