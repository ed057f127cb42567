"""Data files of a table: those of its newest version, and those that were replaced and are to be removed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
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
    """A data file of the newest version: its name as the log has it, and the batches of its rows if they are known."""

    name: str
    size: int
    first: int = -1
    last: int = -1


def active_files(table: DeltaTable) -> Iterator[ActiveFile]:
    """The data files of the version as of which a table was opened."""
    found = pa.table(table.get_add_actions(flatten=True))
    names = found.column("path").to_pylist()
    sizes = found.column("size_bytes").to_pylist()
    for number, (name, size) in enumerate(zip(names, sizes, strict=True)):
        first, last = (_stat(found, which, number) for which in ("min", "max"))
        yield ActiveFile(name, size, first, last)


def _stat(found: pa.Table, which: str, number: int) -> int:
    for column in parquet.BATCH_COLUMNS:
        if f"{which}.{column}" in found.column_names:
            value = found.column(f"{which}.{column}")[number].as_py()
            return -1 if value is None else int(value)
    return -1


class Removals:
    """Files that were replaced, when and by which version: noted before they are, and removed once nobody reads them.

    A reader of an older version still finds them, so they stay until there is none.
    """

    def __init__(self, note: StorePath) -> None:
        self._note = note

    @property
    def names(self) -> set[str]:
        """All that are noted."""
        return {name for each in self._read() for name in each["files"]}

    def add(self, names: Sequence[str], at: float, version: int) -> None:
        """Note files, as the log names them, that are about to be replaced or were, by this version at the latest."""
        if names:
            self._write([*self._read(), {"at": at, "version": version, "files": [*names]}])

    def made(self, version: int) -> None:
        """Note by which version the files that were added last have been replaced."""
        *others, last = self._read()
        self._write([*others, {**last, "version": version}])

    def add_removed(self, actions: Iterable[Mapping[str, Any]], version: int) -> None:
        """Note what commits of others than this maintenance have removed, up to a version."""
        gone = [each["remove"] for each in actions if "remove" in each and each["remove"].get("dataChange", True)]
        at = max((each["deletionTimestamp"] / 1000 for each in gone), default=0.0)
        self.add([each["path"] for each in gone], at, version)

    def remove(self, table: StorePath, before: float, bound: int | None) -> int:
        """Remove those that were replaced before a time and are in the table no more; return how many.

        `bound` is the first version that a reader needs; None if nobody needs an older one than the newest.
        """
        noted = self._read()
        due = [each for each in noted if each["at"] <= before and (bound is None or each.get("version", -1) <= bound)]
        names = {name for each in due for name in each["files"]}
        if not names:
            return 0
        gone = names - {each.name for each in active_files(open_table(table))}
        for name in sorted(gone):
            _delete(table, unquote(name))
        self._write([each for each in noted if each not in due])
        return len(gone)

    def _read(self) -> list[dict[str, Any]]:
        try:
            return json_files.read(self._note, lambda found: [_noted(**each) for each in found], _FORGET)
        except FileNotFoundError:
            return []

    def _write(self, noted: Sequence[Mapping[str, Any]]) -> None:
        durable.write(self._note, json.dumps(noted))


def _noted(at: float, files: list[str], version: int = -1) -> dict[str, Any]:
    return {"at": at, "version": version, "files": files}


def _delete(table: StorePath, name: str) -> None:
    """Delete a data file, and the folder that held nothing else."""
    file = table / name
    file.unlink(missing_ok=True)
    if isinstance(file, Path) and "/" in name:
        with suppress(OSError):
            file.parent.rmdir()
