"""A backup: all that a project has stored, copied as one consistent set, with a manifest of what it holds.

Tables, checkpoints and notes belong together: a table that is older than its checkpoint has lost rows, and one that is
newer gets some twice. So they are taken while no runner is running, and put back together. The manifest is written
last, so a backup without one is not whole. A restore leaves a journal until it is whole as well.

What describes the world outside is left out: letters that were sent, the broker, logs, locks.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from functools import partial
from typing import Any

from headrace.errors import HeadraceError, UsageError
from headrace.store import durable, json_files, trees
from headrace.store.commits import newest_version
from headrace.store.delta_tables import id_of
from headrace.store.layout import Layout
from headrace.store.paths import StorePath

FOLDERS = ("tables", "checkpoints", "declared", "rebuild", "retired", "set_aside", "published")
_MANIFEST = "backup.json"
_FORMAT = 1


@dataclass(frozen=True)
class Manifest:
    """What a backup holds: id and newest version of each table by its path, and how far publishers had sent theirs.

    `files` are the number and the bytes of the files in each of its folders; a backup of before does not say.
    """

    project: str
    target: str
    made_at: str
    tables: Mapping[str, tuple[str, int]]
    sent: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    files: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    format: int = _FORMAT


def take(layout: Layout, to: StorePath, names: tuple[str, str], sent: Mapping[str, Mapping[str, Any]]) -> Manifest:
    """Copy what is stored to a folder that is empty; the lease must be held.

    `names` are those of the project and its target, `sent` the records of its publishers.
    """
    _refuse_inside(layout, to)
    if not trees.is_empty(to):
        raise UsageError(f"{to} is not empty; name a folder that is not there yet")
    for name in FOLDERS:
        if (layout.root / name).is_dir():
            trees.copy(layout.root / name, to / name)
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    made = Manifest(*names, now, dict(_tables(to)), sent, _files(to))
    _refuse_moved(layout, made)
    trees.sync(to)
    durable.write(to / _MANIFEST, json.dumps(asdict(made), indent=1))
    return made


def _refuse_moved(layout: Layout, made: Manifest) -> None:
    """Refuse a set that others wrote to while it was copied: a tool, or a runner that was suspended and lost its lease.

    Its tables and checkpoints may then be of different moments.
    """
    if (_files(layout.root), dict(_tables(layout.root))) != (made.files, made.tables):
        raise HeadraceError(
            f"another process has written to {layout.root} while it was copied, so the backup is not one set: end that "
            "process, and take the backup again to another folder"
        )


def _refuse_inside(layout: Layout, to: StorePath) -> None:
    """Refuse a backup in what it is of: a restore would remove it."""
    if any(trees.is_within(to, layout.root / name) for name in FOLDERS):
        raise UsageError(f"{to} is in the data, and a restore removes what is there; name a folder elsewhere")


def manifest(folder: StorePath) -> Manifest:
    """What a backup says it holds; UsageError if there is no whole one."""
    try:
        return json_files.read(folder / _MANIFEST, partial(_manifest, folder), "restore another backup")
    except FileNotFoundError:
        raise UsageError(f"{folder} holds no whole backup: it has no {_MANIFEST}, which is written last") from None


def _manifest(folder: StorePath, found: Mapping[str, Any]) -> Manifest:
    if found["format"] != _FORMAT:
        raise UsageError(f"{folder} was written by a newer headrace; restore it with that one")
    tables = {path: (str(table_id), int(version)) for path, (table_id, version) in found["tables"].items()}
    files = {name: (int(number), int(size)) for name, (number, size) in found.get("files", {}).items()}
    return Manifest(found["project"], found["target"], found["made_at"], tables, found["sent"], files)


def stored(layout: Layout) -> list[str]:
    """What a restore would replace."""
    return [name for name in FOLDERS if (layout.root / name).is_dir()]


def put_back(layout: Layout, backup: StorePath) -> None:
    """Replace what is stored by a backup; the lease must be held. A restore that was interrupted can be repeated."""
    wanted = manifest(backup)
    _refuse_changed(backup, wanted)
    durable.write(layout.restore, json.dumps({"from": str(backup)}))
    for name in FOLDERS:
        trees.remove(layout.root / name)
        if (backup / name).is_dir():
            trees.copy(backup / name, layout.root / name)
    for journal in (layout.swap, layout.reset, layout.maintenance):
        journal.unlink(missing_ok=True)
    if dict(_tables(layout.root)) != dict(wanted.tables):
        raise HeadraceError(f"{backup} does not hold what its {_MANIFEST} says; restore another backup")
    trees.sync(layout.root)
    layout.restore.unlink()


def _refuse_changed(backup: StorePath, wanted: Manifest) -> None:
    """Refuse a backup that has lost something since it was taken, before what is stored makes room for it."""
    for name, (number, size) in wanted.files.items():
        if (found := trees.extent(backup / name)) != (number, size):
            raise UsageError(
                f"{backup / name} has {found[0]} files of {found[1]:,} bytes, and {_MANIFEST} says {number} of "
                f"{size:,}: the backup has been changed or lost files. Nothing was replaced; restore another backup"
            )
    if dict(_tables(backup)) != dict(wanted.tables):
        raise UsageError(
            f"{backup} does not hold the tables that its {_MANIFEST} names. Nothing was replaced; "
            "restore another backup"
        )


def refuse_half(layout: Layout) -> None:
    """Refuse data that a restore has left half replaced."""
    if layout.restore.is_file():
        remedy = "a restore was interrupted: run `headrace restore` with its backup and --replace to complete it"
        source = json_files.read(layout.restore, lambda journal: journal["from"], remedy)
        raise HeadraceError(
            f"a restore from {source} was interrupted: run `headrace restore {source} --replace` to complete it"
        )


def _files(root: StorePath) -> dict[str, tuple[int, int]]:
    return {name: trees.extent(root / name) for name in FOLDERS if (root / name).is_dir()}


def _tables(root: StorePath) -> Iterator[tuple[str, tuple[str, int]]]:
    for log in root.glob("tables/*/*/_delta_log"):
        table = log.parent
        yield str(table.relative_to(root)), (id_of(table), newest_version(table))
