"""The swap: a rebuild replaces what is live; if the process dies in between, the next one completes it.

A journal records the steps before anything moves; each move can be repeated, and the next process finishes the rest.
On Linux the two folders of a table are exchanged atomically, so a reader always finds one of them; and the data files
of the old one can still be opened where a reader has seen them.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta, timezone
from itertools import chain
from pathlib import Path
from typing import Any

from headrace.errors import UsageError
from headrace.store import durable, json_files, trees
from headrace.store.layout import Layout
from headrace.store.paths import StorePath

_EXCHANGE = 2
_HERE = -100  # paths are taken as they are


@dataclass(frozen=True)
class Swap:
    """A swap under way or done; all paths are relative to the data directory.

    `places` map each path to the identity of the folder that goes there; None where only the old side has a folder.
    `done` are the steps that are done, where folders are moved object by object.
    """

    queries: tuple[str, ...]
    beside: str
    retired: str
    until: str
    places: Mapping[str, int | None]
    done: tuple[str, ...] = ()


def swap(
    layout: Layout, beside: StorePath, queries: Iterable[str], paths: Iterable[StorePath], days: float
) -> StorePath:
    """Swap in the folders in `beside`, and return where the old ones are kept; the runner's lock must be held.

    UsageError where a folder is on another disk, so that it could not be moved.
    """
    paths = [*paths]
    _refuse_other_disks(layout, beside, paths)
    now, names = datetime.now(timezone.utc), tuple(queries)
    places = {str(path.relative_to(layout.root)): _identity(_at(beside, path, layout)) for path in paths}
    for path, identity in places.items():
        if identity is not None and path.startswith("tables/"):
            _link_files(layout.root / path, beside / path)
    retired = layout.retired / f"{now:%Y%m%dT%H%M%S%f}-{names[0]}"
    folders = [str(path.relative_to(layout.root)) for path in (beside, retired)]
    until = (now + timedelta(days=days)).isoformat(timespec="seconds")
    _write(layout.swap, Swap(names, folders[0], folders[1], until, places))
    finish(layout)
    return retired


def _refuse_other_disks(layout: Layout, beside: StorePath, paths: Iterable[StorePath]) -> None:
    """Refuse folders that no move reaches, before the journal is written: a swap that was begun must be finished."""
    root = layout.root
    if not isinstance(root, Path):
        return
    moved = (each.parent for live in paths for each in (live, _at(beside, live, layout)))
    for folder in (layout.retired, *moved):
        if isinstance(folder, Path) and folder.is_dir() and trees.disk_of(folder) != trees.disk_of(root):
            raise UsageError(
                f"{folder} is on another disk than {root}, and a swap can move folders on one disk only; "
                "stop the runner, and move all of them to one"
            )


def finish(layout: Layout) -> None:
    """Finish a swap that was begun; the runner's lock must be held."""
    if not layout.swap.is_file():
        return
    found, root = _read(layout.swap), layout.root
    if isinstance(root, Path):
        for path, inode in found.places.items():
            _take_over(root / found.beside / path, root / path, root / found.retired / path, inode)
    else:
        _move_objects(layout, found)
    trees.sync(root)  # a disk that has lost the moves must still have what they moved
    trees.remove(root / found.beside)
    durable.write(root / found.retired / _NAME, layout.swap.read_text("utf-8"))
    trees.sync(root)
    layout.swap.unlink()


def retired(layout: Layout) -> Mapping[StorePath, Swap]:
    """What is kept of swaps that are done, oldest first."""
    return {file.parent: _read(file) for file in sorted(layout.retired.glob(f"*/{_NAME}"), key=str)}


def is_over(done: Swap) -> bool:
    """Whether the old need not be kept any more."""
    return datetime.fromisoformat(done.until) <= datetime.now(timezone.utc)


def remove(layout: Layout, folder: StorePath) -> None:
    """Remove what is kept of a swap, and the files that were left for readers."""
    if isinstance(folder, Path):
        assert isinstance(layout.root, Path)
        _unlink_files(layout.root, folder)
    for name in _KEPT:
        trees.remove(folder / name)
    trees.remove(folder)  # its note last: if the process dies before, the next one still knows what to remove


def _unlink_files(root: Path, folder: Path) -> None:
    for table in folder.glob("tables/*/*"):
        for file in _data_files(table):
            left = root / file.relative_to(folder)
            left.unlink(missing_ok=True)
            with suppress(OSError):  # the folder is not empty
                left.parent.rmdir()


def _at(beside: StorePath, path: StorePath, layout: Layout) -> StorePath:
    return beside / str(path.relative_to(layout.root))


def _identity(path: StorePath) -> int | None:
    """What distinguishes a folder from the one that it replaces: on a disk, its inode."""
    if isinstance(path, Path):
        return _inode(path)
    return 0 if path.is_dir() else None


def _inode(path: Path) -> int | None:
    return path.stat().st_ino if path.exists() else None


def _move_objects(layout: Layout, swap: Swap) -> None:
    """Move the old aside, then the new into place, folder by folder; the journal says which of it is done."""
    root = layout.root
    for path, identity in swap.places.items():
        steps = [(f"{path} aside", root / path, root / swap.retired / path)]
        steps += [(f"{path} in place", root / swap.beside / path, root / path)] if identity is not None else []
        for step, folder, to in steps:
            if step not in swap.done:
                trees.move(folder, to)
                swap = replace(swap, done=(*swap.done, step))
                _write(layout.swap, swap)


def _link_files(live: StorePath, new: StorePath) -> None:
    """Let a reader that has listed the old table's files find them: their names are unique."""
    if not isinstance(live, Path) or not isinstance(new, Path):
        return
    for file in _data_files(live):
        link = new / file.relative_to(live)
        if not link.exists():
            link.parent.mkdir(exist_ok=True)
            os.link(file, link)


def _data_files(table: Path) -> Iterator[Path]:
    """What readers of a table read. Folders with an underscore are about that table: they must not reach another."""
    found = chain(table.glob("*.parquet"), table.glob("*/*.parquet"))
    return (file for file in found if file.parent == table or not file.parent.name.startswith("_"))


def _take_over(new: Path, live: Path, old: Path, inode: int | None) -> None:
    """Put the new folder in place and the old one aside; any of the steps may have been done before."""
    old.parent.mkdir(parents=True, exist_ok=True)
    live.parent.mkdir(parents=True, exist_ok=True)
    if inode is None:
        _move(live, old)
        return
    if _inode(new) == inode and not (live.exists() and _exchange(new, live)):
        _move(live, old)
        _move(new, live)
    if _inode(new) != inode:  # it is the old one now
        _move(new, old)


def _move(path: Path, to: Path) -> None:
    if path.exists() and not to.exists():
        path.rename(to)


def _exchange(one: Path, other: Path) -> bool:
    """Exchange two folders atomically; False where the system cannot."""
    if not sys.platform.startswith("linux"):
        return False
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    return rename is not None and rename(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE) == 0


def _write(file: StorePath, content: Swap) -> None:
    durable.write(file, json.dumps(asdict(content)))


def _read(file: StorePath) -> Swap:
    remedy = "restore a backup with `headrace restore`"
    if file.name == _NAME and file.parent.parent.name == "retired":
        remedy = f"remove the folder {file.parent}: it holds what a swap has replaced"
    return json_files.read(file, _swap, remedy)


def _swap(fields: Mapping[str, Any]) -> Swap:
    beside, retired = (json_files.inside(fields[each]) for each in ("beside", "retired"))
    places = {json_files.inside(path): identity for path, identity in fields["places"].items()}
    datetime.fromisoformat(fields["until"])
    return Swap(tuple(fields["queries"]), beside, retired, fields["until"], places, tuple(fields.get("done", ())))


_NAME = "swap.json"
_KEPT = ("tables", "checkpoints")
