"""A backup is one set that is put back whole or not at all."""

from __future__ import annotations

import errno
import json
import os
import shutil
import stat
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from headrace.commands.edits import backups
from headrace.commands.edits.rebuilding import rebuilding
from headrace.commands.workspace import Workspace
from headrace.environment import backup
from headrace.errors import HeadraceError, Locked, UsageError
from headrace.faults import describe
from headrace.project.declarations.targets.references import DATA_DIR_VARIABLE
from headrace.store import durable, lease, trees
from headrace.store.layout import Layout
from headrace.store.paths import StorePath
from tests import buckets

ROOT = Path(__file__).parents[2]
SENT = {"gold.a": {"table": "x", "version": 3, "position": 0}}
SET = (
    "checkpoints/q/offsets/0",
    "declared/q.json",
    "published/a.json",
    "set_aside/a.ndjson",
    "tables/gold/a/f.parquet",
)
OUTSIDE = ("broker/log", "mail/letters.sqlite", "locks/lease.json")
PLACES = {"disk to disk": "dd", "bucket to bucket": "bb", "disk to bucket": "db", "bucket to disk": "bd"}


class Died(Exception):
    """The process dies here."""


def entry(number: int, **action: Any) -> tuple[str, str]:
    return f"tables/gold/a/_delta_log/{number:020}.json", json.dumps(action)


def fill(root: StorePath, **words: str) -> None:
    """What a project has stored, with a word of one's own in some files."""
    log = [entry(0, metaData={"id": "x"}), entry(1, commitInfo={})]
    for name, text in [*((name, words.get("text", "old")) for name in (*SET, *OUTSIDE)), *log]:
        durable_write(root, name, text)


def durable_write(root: StorePath, name: str, text: str) -> None:
    file = root / name
    file.parent.mkdir(parents=True, exist_ok=True)
    durable.write(file, text)


def content(root: StorePath) -> dict[str, str]:
    return {str(file.relative_to(root)): file.read_text("utf-8") for file in trees.files(root)}


@pytest.fixture(params=PLACES.values(), ids=PLACES)
def places(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Layout, StorePath]:
    """Where the data are, and where the backup goes."""
    of = {"d": lambda name: tmp_path / name, "b": lambda _: buckets.in_memory()}
    one, other = (of[kind](name) for name, kind in zip(("one", "other"), request.param, strict=True))
    return Layout(tmp_path / "local", one / "data"), other / "backup"


def taken(layout: Layout, to: StorePath) -> backup.Manifest:
    return backup.take(layout, to, ("shop", "prod"), SENT)


def test_set_is_put_back_and_the_world_outside_stays(places: tuple[Layout, StorePath]) -> None:
    layout, to = places
    fill(layout.root)
    before = content(layout.root)
    taken(layout, to)
    fill(layout.root, text="new")
    durable_write(layout.root, *entry(2, commitInfo={}))
    durable_write(layout.root, "tables/gold/later/f.parquet", "new")
    backup.put_back(layout, to)
    assert content(layout.root) == {**before, **dict.fromkeys(OUTSIDE, "new")}


def test_manifest_says_what_there_is(places: tuple[Layout, StorePath]) -> None:
    layout, to = places
    fill(layout.root)
    made, found = taken(layout, to), backup.manifest(to)
    assert made == found
    assert (found.project, found.target, dict(found.tables), found.sent) == (
        "shop",
        "prod",
        {"tables/gold/a": ("x", 1)},
        SENT,
    )


def test_backup_is_not_mixed_with_another(places: tuple[Layout, StorePath]) -> None:
    layout, to = places
    durable_write(to, "file", "")
    with pytest.raises(UsageError, match="is not empty"):
        taken(layout, to)


def test_backup_to_a_root_looks_at_no_more_than_its_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trees, "files", lambda folder: pytest.fail(f"all of {folder} was looked at"))
    with pytest.raises(UsageError, match="/ is not empty"):
        taken(Layout(tmp_path), Path("/"))


@pytest.mark.parametrize("change", ["committed", "removed"])
def test_backup_of_what_others_write_meanwhile_is_none(
    places: tuple[Layout, StorePath], monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    """A runner that was suspended and goes on commits once the tables are copied; a tool removes a file before."""
    (layout, to), copied = places, trees.copy
    fill(layout.root)

    def copy(folder: StorePath, place: StorePath) -> None:
        if change == "committed" and folder.name == "checkpoints":
            durable_write(layout.root, *entry(2, commitInfo={}))
            durable_write(layout.root, "checkpoints/q/offsets/1", "new")
        copied(folder, place)
        if change == "removed" and folder.name == "tables":
            (layout.root / "tables/gold/a/f.parquet").unlink()

    monkeypatch.setattr(trees, "copy", copy)
    with pytest.raises(HeadraceError, match="another process has written"):
        taken(layout, to)
    with pytest.raises(UsageError, match="no whole backup"):
        backup.put_back(layout, to)


@pytest.mark.parametrize("files", [0, 3])
def test_backup_that_died_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: int) -> None:
    layout, to = Layout(tmp_path / "data"), tmp_path / "backup"
    fill(layout.root)
    die(monkeypatch, files)
    with pytest.raises(Died):
        taken(layout, to)
    monkeypatch.undo()
    with pytest.raises(UsageError, match="no whole backup"):
        backup.put_back(layout, to)
    assert content(layout.root)[SET[0]] == "old"


def test_restore_that_died_is_refused_until_it_is_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    layout, to = Layout(tmp_path / "data"), tmp_path / "backup"
    fill(layout.root)
    before = content(layout.root)
    taken(layout, to)
    die(monkeypatch, 2)
    with pytest.raises(Died):
        backup.put_back(layout, to)
    monkeypatch.undo()
    monkeypatch.setenv(DATA_DIR_VARIABLE, str(layout.root))
    with pytest.raises(HeadraceError, match=f"headrace restore {to} --replace"):
        _ = Workspace(ROOT, "test").layout
    backup.put_back(layout, to)
    assert content(layout.root) == before
    assert Workspace(ROOT, "test").layout == layout


def test_interrupted_restore_names_its_backup_wherever_it_was_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    layout, to = Layout(tmp_path / "data"), tmp_path / "backup"
    fill(layout.root)
    backup.take(layout, to, ("headrace_demo", "test"), {})
    monkeypatch.setenv(DATA_DIR_VARIABLE, str(layout.root))
    monkeypatch.setattr(backups, "_connected", lambda workspace: nullcontext(replace(workspace.declared, models=())))
    die(monkeypatch, 2)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(Died):
        backups.put_back(Workspace(ROOT, "test"), "backup", True, None)
    with pytest.raises(HeadraceError, match=f"headrace restore {to} --replace"):
        backup.refuse_half(layout)


def lose(folder: StorePath, name: str) -> None:
    (folder / name).unlink()


def cut(folder: StorePath, name: str) -> None:
    (folder / name).write_text("ol")


@pytest.mark.parametrize("change", [lose, cut])
@pytest.mark.parametrize("name", ["checkpoints/q/offsets/0", "tables/gold/a/f.parquet", entry(1)[0]])
def test_backup_that_was_changed_replaces_nothing(
    places: tuple[Layout, StorePath], change: Callable[[StorePath, str], None], name: str
) -> None:
    layout, to = places
    fill(layout.root)
    taken(layout, to)
    change(to, name)
    fill(layout.root, text="new")
    before = content(layout.root)
    with pytest.raises(UsageError, match="Nothing was replaced; restore another backup"):
        backup.put_back(layout, to)
    backup.refuse_half(layout)
    assert content(layout.root) == before


def test_backup_of_before_that_lacks_a_commit_replaces_nothing(tmp_path: Path) -> None:
    """Its manifest does not count files."""
    layout, to = Layout(tmp_path / "data"), tmp_path / "backup"
    fill(layout.root)
    manifest = json.loads((taken(layout, to) and (to / "backup.json")).read_text("utf-8"))
    (to / "backup.json").write_text(json.dumps({name: each for name, each in manifest.items() if name != "files"}))
    lose(to, entry(1)[0])
    with pytest.raises(UsageError, match="Nothing was replaced"):
        backup.put_back(layout, to)
    assert content(layout.root)[SET[0]] == "old"


REFUSED = [
    (("shop", True, None), "a backup of the project shop"),
    (
        ("headrace_demo", False, None),
        "is not empty: it has tables, checkpoints, declared, set_aside, published; `--replace`",
    ),
]


@pytest.mark.parametrize(("asked", "why"), REFUSED)
def test_what_would_be_lost_is_not_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: tuple[str, bool, None], why: str
) -> None:
    project, replace, choice = asked
    layout, to = Layout(tmp_path / "data"), tmp_path / "backup"
    fill(layout.root)
    backup.take(layout, to, (project, "test"), {})
    monkeypatch.setenv(DATA_DIR_VARIABLE, str(layout.root))
    with pytest.raises(UsageError, match=why):
        backups.put_back(Workspace(ROOT, "test"), str(to), replace, choice)
    assert content(layout.root)[SET[0]] == "old"


def test_restore_without_a_folder_needs_a_choice() -> None:
    with pytest.raises(UsageError, match="--publish again"):
        backups.put_back(Workspace(ROOT, "test"), None, False, None)


def die(monkeypatch: pytest.MonkeyPatch, files: int) -> None:
    """Let the process die after some of the files of the first folder were copied."""

    left, copied = iter(range(files)), shutil.copy2

    def copy(file: Path, to: Path) -> None:
        if next(left, None) is None:
            raise Died
        copied(file, to)

    monkeypatch.setattr(trees.shutil, "copy2", copy)


def test_backup_ends_at_the_first_file_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk is reported by its file, and not tried again with all others."""
    layout, to, tried = Layout(tmp_path / "data"), tmp_path / "backup", list[Path]()
    fill(layout.root)

    def copy(file: Path, to: Path) -> None:
        tried.append(to)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(file), None, str(to))

    monkeypatch.setattr(trees.shutil, "copy2", copy)
    with pytest.raises(OSError) as failed:
        taken(layout, to)
    assert [str(each) for each in tried] == [failed.value.filename]
    assert str(to) in str(describe(failed.value))


@pytest.mark.parametrize("is_bucket", [False, True])
@pytest.mark.parametrize("name", ["checkpoints/q/lost", "tables/gold/lost"])
def test_backup_without_what_a_link_leads_to_is_none(tmp_path: Path, name: str, is_bucket: bool) -> None:
    layout, to = Layout(tmp_path / "data"), buckets.in_memory() / "backup" if is_bucket else tmp_path / "backup"
    fill(layout.root)
    (tmp_path / "data" / name).symlink_to(tmp_path / "unmounted")
    with pytest.raises(FileNotFoundError, match=name):
        taken(layout, to)
    with pytest.raises(UsageError, match="no whole backup"):
        backup.manifest(to)


@pytest.mark.parametrize("link", ["tables", "tables/gold/a", "checkpoints/q"])
@pytest.mark.parametrize("is_bucket", [False, True])
def test_backup_holds_what_links_lead_to(tmp_path: Path, link: str, is_bucket: bool) -> None:
    layout, to = Layout(tmp_path / "data"), buckets.in_memory() / "backup" if is_bucket else tmp_path / "backup"
    fill(layout.root)
    before = {name: text for name, text in content(layout.root).items() if name not in OUTSIDE}
    (tmp_path / "data" / link).rename(tmp_path / "elsewhere")
    (tmp_path / "data" / link).symlink_to(tmp_path / "elsewhere")
    assert taken(layout, to).tables == {"tables/gold/a": ("x", 1)}
    backup.put_back(Layout(tmp_path / "restored"), to)
    assert content(tmp_path / "restored") == before


def test_backup_is_its_owners_alone(places: tuple[Layout, StorePath]) -> None:
    layout, to = places
    fill(layout.root)
    taken(layout, to)
    assert not isinstance(to, Path) or stat.S_IMODE(to.stat().st_mode) == 0o700


@pytest.mark.parametrize("name", ["tables/backup", "retired/monday", "checkpoints"])
def test_backup_is_not_where_a_restore_removes_it(tmp_path: Path, name: str) -> None:
    layout = Layout(tmp_path / "data")
    fill(layout.root)
    (tmp_path / "link").symlink_to(tmp_path / "data")
    for to in (tmp_path / "data" / name / "x", tmp_path / "link" / name / "x"):
        with pytest.raises(UsageError, match="in the data"):
            taken(layout, to)
        assert not to.exists()


@pytest.mark.parametrize("query", ["sales", "a_query_of_before"])
def test_query_is_not_rebuilt_while_its_data_are_copied_or_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, query: str
) -> None:
    layout, to = Layout(tmp_path / "data"), tmp_path / "backup"
    fill(layout.root)
    backup.take(layout, to, ("headrace_demo", "test"), {})
    durable_write(layout.root, f"rebuild/{query}/rebuild.json", "{}")
    monkeypatch.setenv(DATA_DIR_VARIABLE, str(layout.root))
    with lease.exclusive(rebuilding(layout, query)):
        with pytest.raises(Locked, match=f"another process rebuilds {query}"):
            backups.take(Workspace(ROOT, "test"), str(tmp_path / "other"))
        with pytest.raises(Locked, match=f"another process rebuilds {query}"):
            backups.put_back(Workspace(ROOT, "test"), str(to), True, None)
    assert (layout.rebuilds / query / "rebuild.json").is_file()
