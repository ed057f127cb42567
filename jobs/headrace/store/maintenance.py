"""Maintenance of one Delta table: what keeps its log, its files and its start small, however old it gets.

A pass takes the commits that are neither among the newest `KEPT` nor wanted by a reader of the log itself, and

1. notes them in the table's history, so their entries are not needed any more;
2. makes one file of their small ones, in arrival order, by a commit that changes no rows (`dataChange: false`);
3. writes a checkpoint of the log;
4. removes what comes before the newest checkpoint that no reader of the log is behind;
5. removes files that were replaced longer ago than `keep_history`.

Each step can be broken off: the next pass begins where the stored files say. It needs no lock: a batch that commits
at the same time takes the next version, and a foreign change in between ends the pass.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any
from urllib.parse import unquote

from headrace.store import parquet
from headrace.store.commits import (
    MARKER,
    UPKEEP,
    Commit,
    actions_of,
    commit_of,
    newest_version,
    put_entry,
)
from headrace.store.data_files import ActiveFile, Removals, active_files
from headrace.store.delta_tables import is_table, open_table
from headrace.store.history import History
from headrace.store.parquet import DataFile
from headrace.store.paths import StorePath

KEPT = 100
"""The newest commits, which stay as they are: for readers that are a little behind, here and elsewhere."""

WORTH = 80
"""So many commits beyond those are worth a pass."""

SMALL = 8 << 20
"""Bytes: files below are made one, up to about this size."""

_ATTEMPTS = 20
_CHECKSUMS = 20
"""Nobody asks for the checksum of an older version."""


@dataclass(frozen=True)
class Upkeep:
    """What a pass has done to a table, and how large it is now: its files with their bytes, its oldest log entry."""

    commits: int = 0
    compacted: int = 0
    removed: int = 0
    files: int = 0
    bytes: int = 0
    horizon: int = 0
    newest: int = -1


@dataclass(frozen=True)
class Policy:
    """How a table is kept: seconds until what was replaced is removed, and commits that stay or are worth a pass.

    `whole_markers` keeps all that commits say of themselves.
    """

    keep_history: float
    kept: int = KEPT
    worth: int = WORTH
    whole_markers: bool = False


class Maintenance:
    """The passes over one table."""

    def __init__(self, path: StorePath, policy: Policy) -> None:
        self.path = path
        self._policy = policy
        self._removals = Removals(path / "_history" / "removed.json")
        self._passed = -1

    def step(self, bound: int | None = None, worth: int | None = None) -> Upkeep | None:
        """A pass, if there is enough to do; `bound` is the version from which on a reader needs the log itself.

        `worth` says in the place of the policy how many commits are enough.
        """
        newest, history = newest_version(self.path), History(self.path)
        upto = newest - self._policy.kept if bound is None else min(newest - self._policy.kept, bound - 1)
        old, enough = max(self._passed, history.upto), self._policy.worth if worth is None else worth
        if upto - old >= max(enough, 1) and is_table(self.path):
            upto = min(upto, self._newest_batch(newest, old) - 1)  # its writer goes on from what it says
            return self._pass(history, upto) if upto > old else None
        self._removals.remove(self.path, time.time() - self._policy.keep_history)
        return None

    def _pass(self, history: History, upto: int) -> Upkeep:
        entries = dict(self._entries(history.upto, upto))
        commits = [commit_of(version, actions) for version, actions in entries.items()]
        if commits:
            self._removals.add_removed(chain.from_iterable(entries.values()))
            history = history.add(commits, self._policy.whole_markers)
        compacted = self._compact(commits)
        table = open_table(self.path)
        table.create_checkpoint()
        horizon = self._trim(min(upto, history.upto + 1))
        removed = self._removals.remove(self.path, time.time() - self._policy.keep_history)
        self._passed = upto
        sizes = table.get_add_actions().column("size_bytes").to_pylist()
        return Upkeep(len(commits), compacted, removed, len(sizes), sum(sizes), horizon, table.version())

    def _newest_batch(self, newest: int, old: int) -> int:
        """The newest version that is a batch of its writer."""
        versions = range(newest, max(old, _oldest(self.path) - 1), -1)
        return next((each for each in versions if commit_of(each, actions_of(self.path, each)).batch >= 0), newest)

    def _entries(self, after: int, upto: int) -> Iterator[tuple[int, list[dict[str, Any]]]]:
        first = max(after + 1, _oldest(self.path))
        return ((version, actions_of(self.path, version)) for version in range(first, upto + 1))

    def _compact(self, commits: Sequence[Commit]) -> int:
        """Make one file of small ones that no later commit has added; the number of files that went."""
        batch = max((commit.batch for commit in commits), default=-1)
        known = {name for commit in commits for name in commit.files}
        table = open_table(self.path)
        small = [
            each
            for each in active_files(table)
            if each.size < SMALL and (each.name in known or 0 <= each.last <= batch)
        ]
        in_order = sorted(small, key=lambda each: (each.first, each.name))
        return sum(self._replace(group, table.version()) for group in groups(in_order))

    def _replace(self, group: Sequence[ActiveFile], read: int) -> int:
        """Make one file of those that were read as of a version."""
        name = f"compacted-{uuid.uuid4().hex}.parquet"
        rows = parquet.joined([self.path / unquote(each.name) for each in group])
        self._removals.add([each.name for each in group], time.time())
        written = parquet.write(self.path, name, rows)
        if _commit(self.path, written, group, read):
            return len(group)
        (self.path / name).unlink()
        return 0

    def _trim(self, upto: int) -> int:
        """Remove the log before the newest checkpoint up to a version; the first version that is left."""
        files = {file: _version(file) for file in (self.path / "_delta_log").glob("[0-9]*")}
        checkpoints = (version for file, version in files.items() if ".checkpoint" in file.name)
        horizon = max((version for version in checkpoints if version <= upto), default=-1)
        newest = max(files.values())
        for file, version in sorted(files.items(), key=lambda each: each[1]):
            if version < horizon or (file.name.endswith(".crc") and version < newest - _CHECKSUMS):
                file.unlink(missing_ok=True)
        return max(horizon, 0) if horizon >= 0 else _oldest(self.path)


def _version(file: StorePath) -> int:
    """The version that a file of the log is about."""
    return int(file.name.split(".")[0])


def groups(small: Iterable[ActiveFile]) -> Iterator[Sequence[ActiveFile]]:
    """Neighbouring files that together have about the size of one; a single one stays as it is."""
    group: list[ActiveFile] = []
    for each in small:
        group.append(each)
        if sum(one.size for one in group) >= SMALL:
            yield group
            group = []
    if len(group) > 1:
        yield group


def _commit(path: StorePath, added: DataFile, removed: Sequence[ActiveFile], read: int) -> bool:
    """Replace files by one, in a version after all others.

    False if somebody has taken one of them since the version as of which they were read, or has changed columns or
    features: their rows would be there twice.
    """
    now = int(time.time() * 1000)
    marker = json.dumps({MARKER: {UPKEEP: "compaction"}})
    info = {"timestamp": now, "operation": "OPTIMIZE", "operationParameters": {}, "userMetadata": marker}
    gone = [
        {"remove": {"path": each.name, "deletionTimestamp": now, "dataChange": False, "size": each.size}}
        for each in removed
    ]
    actions = [{"commitInfo": {**info, "txnId": uuid.uuid4().hex}}, *gone, added.to_add(data_change=False)]
    names, first = frozenset(each.name for each in removed), newest_version(path) + 1
    if not all(_is_harmless(actions_of(path, version), names) for version in range(read + 1, first)):
        return False
    for version in range(first, first + _ATTEMPTS):
        if put_entry(path, version, actions):
            return True
        if not _is_harmless(actions_of(path, version), names):
            return False
    return False


def _is_harmless(actions: Iterable[Mapping[str, Any]], files: Container[str]) -> bool:
    """Whether a commit has taken none of some files, and left columns and features as they were."""
    return not any(
        "metaData" in each or "protocol" in each or ("remove" in each and each["remove"]["path"] in files)
        for each in actions
    )


def _oldest(path: StorePath) -> int:
    """The first entry that the log still has."""
    entries = (path / "_delta_log").glob("[0-9]" * 20 + ".json")
    return min((int(entry.stem) for entry in entries), default=0)
