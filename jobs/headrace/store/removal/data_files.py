"""Data files of a table: those of its newest version, and those that were replaced and are to be removed."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
from deltalake import DeltaTable

from headrace.store import durable, json_files, parquet
from headrace.store.delta_tables import open_table
from headrace.store.paths import StorePath

_FORGET = "remove it: the files that it lists stay where they are, and nobody reads them"


@dataclass(frozen=True)
class ActiveFile:
    """A data file of the newest version: its name as the log has it, and its rows and their batches if known."""

    name: str
    size: int
    first: int = -1
    last: int = -1
    rows: int = 0


def active_files(table: DeltaTable) -> Iterator[ActiveFile]:
    """The data files of the version as of which a table was opened."""
    found = pa.table(table.get_add_actions(flatten=True))
    names = found.column("path").to_pylist()
    sizes, rows = (found.column(name).to_pylist() for name in ("size_bytes", "num_records"))
    for number, (name, size) in enumerate(zip(names, sizes, strict=True)):
        first, last = (_stat(found, which, number) for which in ("min", "max"))
        yield ActiveFile(name, size, first, last, rows[number] or 0)


def _stat(found: pa.Table, which: str, number: int) -> int:
    for column in parquet.BATCH_COLUMNS:
        if f"{which}.{column}" in found.column_names:
            value = found.column(f"{which}.{column}")[number].as_py()
            return -1 if value is None else int(value)
    return -1


class Removals:
    """Files that were replaced, when and by which version: noted before they are, and removed once nobody reads them.

    A reader of an older version still finds them, so they stay until there is none. Each note is a file named after its
    time: where they stay for days, no pass reads or writes all of them.
    """

    def __init__(self, folder: StorePath) -> None:
        self._folder = folder
        self._last: tuple[StorePath, _Note] | None = None

    @property
    def names(self) -> set[str]:
        """All that are noted."""
        return {name for file in self._files() for name in _read(file).files}

    def add(self, names: Sequence[str], at: float, version: int) -> None:
        """Note files, as the log names them, that are about to be replaced or were, by this version at the latest."""
        if names:
            file = self._folder / f"{int(at * 1000):015}-{uuid.uuid4().hex}.json"
            self._write(file, _Note(at, tuple(names), version))

    def made(self, version: int) -> None:
        """Note by which version the files that were added last have been replaced."""
        if self._last is not None:
            file, note = self._last
            self._write(file, replace(note, version=version))

    def add_removed(self, actions: Iterable[Mapping[str, Any]], version: int) -> None:
        """Note what commits of others than this maintenance have removed, up to a version."""
        gone = [each["remove"] for each in actions if "remove" in each and each["remove"].get("dataChange", True)]
        at = max((each["deletionTimestamp"] / 1000 for each in gone), default=0.0)
        self.add([each["path"] for each in gone], at, version)

    def remove(self, table: StorePath, before: float, bound: int | None) -> int:
        """Remove those that were replaced before a time and are no longer in the table; return how many.

        `bound` is the first version that a reader needs; None if nobody needs an older one than the newest.
        """
        old = ((file, _read(file)) for file in self._files() if file.name[:15] <= f"{int(before * 1000):015}")
        due = {file: note for file, note in old if bound is None or note.version <= bound}
        names = {name for note in due.values() for name in note.files}
        if not names:
            return 0
        gone = names - {each.name for each in active_files(open_table(table))}
        for name in sorted(gone):
            _delete(table, unquote(name))
        for file in due:
            file.unlink(missing_ok=True)
        return len(gone)

    def _files(self) -> list[StorePath]:
        """The notes, oldest first; those of older versions of headrace, which are in one file, are taken over."""
        former = self._folder.parent / f"{self._folder.name}.json"
        with suppress(FileNotFoundError):
            for note in json_files.read(former, lambda found: [_noted(**each) for each in found], _FORGET):
                self.add(note.files, note.at, note.version)
            former.unlink(missing_ok=True)
        return sorted(self._folder.glob("*.json"), key=lambda file: file.name)

    def _write(self, file: StorePath, note: _Note) -> None:
        durable.write(file, json.dumps(asdict(note)))
        self._last = (file, note)


@dataclass(frozen=True)
class _Note:
    """Files that were replaced at a time, in seconds since 1970, by a version at the latest."""

    at: float
    files: tuple[str, ...]
    version: int


def _read(file: StorePath) -> _Note:
    return json_files.read(file, lambda found: _noted(**found), _FORGET)


def _noted(at: float, files: Sequence[str], version: int = -1) -> _Note:
    if isinstance(files, str) or not all(isinstance(each, str) for each in files):
        raise TypeError(files)
    return _Note(at, tuple(files), version)


def _delete(table: StorePath, name: str) -> None:
    """Delete a data file, and the folder that held nothing else; one that is not in the table's folder stays."""
    try:
        json_files.inside(name)
    except ValueError:
        return
    file = table / name
    file.unlink(missing_ok=True)
    if isinstance(file, Path) and "/" in name:
        with suppress(OSError):
            file.parent.rmdir()
