"""Drafts: what a writer had begun to write when it was killed, and what nobody will complete.

- A file that was to get another name: those of `durable`, of Hadoop and of the catalogue, and checkpoints of a log.
- Data files of a table that no commit names.

The first lie anywhere in a store, and `sweep` removes them; of the second, maintenance asks each table.

They are removed when nothing in them has changed for a day. A writer that lives gives a draft its name, or a data file
its commit, within minutes. One that was stopped for longer commits nothing that it has written before.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from headrace.store import trees
from headrace.store.paths import ObjectPath, StorePath

SAFE_SECONDS = 86_400.0
"""How long nothing in a draft has changed before it is removed."""

SWEEP_SECONDS = 3_600.0
"""How often a runner looks for drafts."""

UNNAMED = re.compile(r"\..+\.tmp(\.crc)?|\.checkpoint-.+")
"""Names of files and folders that were to get others."""

DATA = re.compile(r"batch-[0-9a-f]{32}|compacted-[0-9a-f]{32}\.parquet")
"""Names of what headrace writes into a table before the log names it."""


def sweep(root: StorePath) -> int:
    """Remove what was to get another name, anywhere below a folder; return how many files and folders went."""
    return remove(root, untouched(root, UNNAMED))


def untouched(folder: StorePath, names: re.Pattern[str]) -> list[str]:
    """The files and folders below one, relative to it, that have such a name and have not changed for a day."""
    before = time.time() - SAFE_SECONDS
    changed: dict[str, float] = {}
    for name, at in _listed(folder):
        if draft := _draft(name.split("/"), names):
            changed[draft] = max(at, changed.get(draft, at))
    return [draft for draft, at in changed.items() if at < before]


def remove(folder: StorePath, names: Iterable[str]) -> int:
    """Remove files and folders below one; return how many."""
    found = [folder / name for name in names]
    for each in found:
        if each.is_file():
            each.unlink(missing_ok=True)
        else:
            trees.remove(each)
    return len(found)


def _draft(parts: list[str], names: re.Pattern[str]) -> str | None:
    """The outermost part of a path that has such a name, with what is above it."""
    found = (at for at, part in enumerate(parts) if names.fullmatch(part))
    at = next(found, None)
    return None if at is None else "/".join(parts[: at + 1])


def _listed(folder: StorePath) -> Iterator[tuple[str, float]]:
    """All that is below a folder, with the time of its last change."""
    return _in_bucket(folder) if isinstance(folder, ObjectPath) else _on_disk(Path(str(folder)))


def _on_disk(folder: Path) -> Iterator[tuple[str, float]]:
    for above, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = Path(above, name)
            with suppress(FileNotFoundError):  # it was removed meanwhile
                yield path.relative_to(folder).as_posix(), path.lstat().st_mtime


def _in_bucket(folder: ObjectPath) -> Iterator[tuple[str, float]]:
    for each in folder.bucket.below(folder.key):
        yield each.key.removeprefix(f"{folder.key}/"), each.modified
