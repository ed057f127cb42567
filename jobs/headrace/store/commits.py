"""The commits of a Delta table, read from its log: what each added, and the marker of whoever wrote it.

Entries of the log that nobody needs any more are removed (`maintenance`). What is to be known of those commits stays in
the table's history (`history`): their rows are then found by the number of their batch instead of by their files.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from headrace.store import durable, json_files
from headrace.store.paths import StorePath

MARKER = "headrace"
"""In the user metadata of a commit: what its writer notes about it."""

UPKEEP = "upkeep"
"""In the marker of a commit: it changed files, but no rows."""

VERSION = "[0-9]" * 20
"""A version as the names of files have it, as a pattern."""

OF_VERSION = VERSION + ".*"
"""Names of the files of a log that are about a version; others may lie beside them."""

_USUAL_ROW_BYTES = 1_024
"""More bytes than a usual row takes in a file."""

_FOOTER_BYTES = 16_384
"""More bytes than a file without rows takes."""


@dataclass(frozen=True)
class Commit:
    """One version of a table: its writer's marker, and the data files it added with their total size.

    `is_past` says that its entry may have left the log, and its rows may be in other files than those that it added.
    `id` is that of its entry, which no other has; None where the entry is not at hand.
    """

    version: int
    marker: Mapping[str, Any] = field(default_factory=dict)
    files: tuple[str, ...] = ()
    bytes: int = 0
    is_past: bool = False
    id: str | None = field(default=None, compare=False)

    @property
    def batch(self) -> int:
        """The writer's number of this batch; -1 for a commit that is none."""
        return int(self.marker.get("batch", -1))

    @property
    def records(self) -> int:
        """How many rows it holds, by its marker."""
        return int(self.marker.get("records", self.marker.get("rows", 0)))

    @property
    def weight(self) -> int:
        """Its size as a number of usual rows: a large row counts as several."""
        return max(self.records, (self.bytes - len(self.files) * _FOOTER_BYTES) // _USUAL_ROW_BYTES)

    @property
    def as_past(self) -> Commit:
        """What the history keeps of it: of its files only whether there were any, and their bytes without footers."""
        size = max(self.bytes - len(self.files) * _FOOTER_BYTES, 1) if self.files else 0
        return replace(self, files=(), bytes=size, is_past=True, id=None)

    @property
    def has_rows(self) -> bool:
        """Whether it holds rows for a reader: a batch, and not only a tick."""
        return self.batch >= 0 and not self.marker.get("tick", False)

    @property
    def added_rows(self) -> bool:
        """Whether it added any row, ticks included."""
        return bool(self.files) or (self.is_past and self.bytes > 0)


def entry_path(table: StorePath, version: int) -> StorePath:
    """The file of the log that makes a version."""
    return table / "_delta_log" / f"{version:020}.json"


def newest_version(table: StorePath) -> int:
    """The newest version there is; -1 for a table that does not exist yet."""
    entries = (table / "_delta_log").glob(VERSION + ".json")
    return max((int(entry.stem) for entry in entries), default=-1)


def oldest_version(table: StorePath) -> int:
    """The first version whose entry the log still has; 0 for a table that does not exist yet."""
    entries = (table / "_delta_log").glob(VERSION + ".json")
    return min((int(entry.stem) for entry in entries), default=0)


def actions_of(table: StorePath, version: int) -> list[dict[str, Any]]:
    """The actions of a version; FileNotFoundError if the log does not hold it, TornFile if it does not hold all."""
    entry = entry_path(table, version)
    data = entry.read_bytes()
    with json_files.whole(entry, data):
        actions = [json.loads(line.decode()) for line in data.splitlines()]
        if not all(isinstance(each, dict) for each in actions) or _lacks_files(actions):
            raise ValueError("actions are missing")
    return actions


def _lacks_files(actions: Sequence[Mapping[str, Any]]) -> bool:
    """Whether an entry was cut off at the end of a line: it has nothing, or its marker has rows and no file has."""
    marker = marker_of(actions)
    has_rows = int(marker.get("batch", -1)) >= 0 and int(marker.get("records", marker.get("rows", 0))) > 0
    return not actions or (has_rows and not any("add" in each for each in actions))


def newest_batch(table: StorePath, query: str) -> int:
    """The newest batch of a query that a table holds; -1 if there is none. Maintenance leaves its entry in the log."""
    for version in range(newest_version(table), -1, -1):
        try:
            marker = marker_of(actions_of(table, version))
        except FileNotFoundError:  # the log begins later
            return -1
        if marker.get("query") == query:
            return int(marker.get("batch", -1))
    return -1


def put_entry(table: StorePath, version: int, actions: Iterable[Mapping[str, Any]]) -> bool:
    """Write the entry that makes a version, whole or not at all; False if somebody else has made the version.

    On a disk, the data files that it adds are synced first. An entry that is this one already counts as written: a
    client repeats a put whose answer is late.
    """
    entry, actions = entry_path(table, version), [*actions]
    text = "".join(json.dumps(action, separators=(",", ":")) + "\n" for action in actions)
    try:
        durable.write_new(entry, text, *(_added(table, actions) if isinstance(table, Path) else ()))
    except FileExistsError:
        return entry.read_text("utf-8") == text
    return True


def _added(table: Path, actions: Iterable[Mapping[str, Any]]) -> Iterator[Path]:
    """The data files that actions add, with Hadoop's checksums of them, and the folders in which their names are."""
    files = [table / unquote(each["add"]["path"]) for each in actions if "add" in each]
    checksums = (file.with_name(f".{file.name}.crc") for file in files)
    yield from files
    yield from (file for file in checksums if file.is_file())
    yield from dict.fromkeys(folder for file in files for folder in (file.parent, table))


def commit_of(version: int, actions: Iterable[Mapping[str, Any]]) -> Commit:
    """A version as its actions describe it."""
    actions = [*actions]
    added = [each["add"] for each in actions if "add" in each and each["add"].get("dataChange", True)]
    size = sum(int(add["size"]) for add in added)
    files = tuple(add["path"] for add in added)
    return Commit(version, marker_of(actions), files, size, id=info_of(actions).get("txnId"))


def marker_of(actions: Iterable[Mapping[str, Any]]) -> Mapping[str, Any]:
    """The marker of a commit; empty for one that is not of headrace."""
    try:
        noted = json.loads(info_of(actions).get("userMetadata") or "{}")
    except ValueError:  # others write there what they like
        return {}
    marker: Mapping[str, Any] = noted.get(MARKER, {}) if isinstance(noted, dict) else {}
    return marker


def info_of(actions: Iterable[Mapping[str, Any]]) -> Mapping[str, Any]:
    """What a commit says about itself: its operation, time (`timestamp`, milliseconds) and tool (`engineInfo`)."""
    return next((each["commitInfo"] for each in actions if "commitInfo" in each), {})
