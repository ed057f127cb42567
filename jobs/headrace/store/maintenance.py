"""Maintenance of one Delta table: what keeps its log, its files and its start small, however old it gets.

A pass takes the commits that are neither among the newest `KEPT` nor wanted by a reader of the log itself, and

1. notes them in the table's history, so their entries are not needed any more;
2. compacts small neighbouring files of about the same size, by a commit that changes no rows (`dataChange: false`);
3. writes a checkpoint of the log;
4. removes what comes before the newest checkpoint that no reader of the log is behind;
5. removes files that were replaced longer ago than `keep_history`, once no reader needs a version that has them.

Where a table has `keep`, files whose rows are all older leave it by a commit of their own (`retention`), as long as no
reader has still to read them; they too are removed after `keep_history`.

Once an hour, data files that killed writers have left uncommitted are removed (`removal/drafts`).

Each step can be interrupted: the next pass continues from what is stored. It needs no lock: a batch that commits
at the same time takes the next version, and a foreign change in between ends the pass.
"""

from __future__ import annotations

import json
import math
import time
import uuid
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, groupby
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from deltalake import DeltaTable

from headrace.store import durable, parquet, retention
from headrace.store.commits import (
    MARKER,
    OF_VERSION,
    UPKEEP,
    VERSION,
    Commit,
    actions_of,
    commit_of,
    newest_version,
    put_entry,
)
from headrace.store.delta_tables import change_table, create_checkpoint, is_table, open_table
from headrace.store.history import History
from headrace.store.parquet import DataFile
from headrace.store.paths import StorePath
from headrace.store.removal import drafts
from headrace.store.removal.data_files import ActiveFile, Removals, active_files
from headrace.store.retention import Ages, Mark
from headrace.store.trees import Instant

KEPT = 100
"""The newest commits, which stay as they are: for readers that are a little behind, here and elsewhere."""

WORTH = 80
"""How many commits beyond those are worth a pass."""

SMALL = 8 << 20
"""Bytes: files below this size are compacted, up to about this size."""

MANY = 500_000
"""Rows: at most this many are in memory during a compaction, however few bytes they take on disk."""

LARGE = 1 << 20
"""Bytes: commits that together leave more behind are worth a pass."""

_JUMP = 10.0
"""Seconds: a clock that differs by more from one look to the next was set."""

_ATTEMPTS = 20
_CHECKSUMS = 20
"""Nobody asks for the checksum of an older version."""


@dataclass(frozen=True)
class Upkeep:
    """What a pass has done to a table, and how large it is now: its files with their bytes, its oldest log entry.

    `retired` are files whose rows have left the table; `drafts` are data files and folders that no commit names.
    """

    commits: int = 0
    compacted: int = 0
    removed: int = 0
    retired: int = 0
    drafts: int = 0
    files: int = 0
    bytes: int = 0
    horizon: int = 0
    newest: int = -1


@dataclass(frozen=True)
class Policy:
    """How a table is kept: seconds until what was replaced is removed, and commits that stay or are worth a pass.

    `whole_markers` keeps all that commits say of themselves. `keep` is how many seconds rows stay, None for all time.
    `is_replaced` says that a commit leaves behind all that was there, and that nobody reads commit by commit: then the
    newest ones stay, and are worth a pass once they are so many or take `LARGE` bytes.
    """

    keep_history: float
    keep: float | None = None
    kept: int = KEPT
    worth: int = WORTH
    whole_markers: bool = False
    is_replaced: bool = False


class Maintenance:
    """The passes over one table."""

    def __init__(self, path: StorePath, policy: Policy) -> None:
        self.path = path
        self._policy = policy
        self._removals = Removals(path / "_history" / "removed")
        self._passed = -1
        self._ages: Ages | None = None
        self._looked: Instant | None = None
        self._sweep_at = 0.0

    @property
    def keep(self) -> float | None:
        """For how many seconds rows stay; None for all time."""
        return self._policy.keep

    def step(self, bound: int | None = None, worth: int | None = None, unread: int | None = None) -> Upkeep | None:
        """A pass, if there is enough to do; `bound` is the version from which on a reader needs the log itself.

        `worth` says in the place of the policy how many commits are enough. `unread` is the first version that some
        reader has still to read.
        """
        retired = self._retire([each for each in (bound, unread) if each is not None], worth is not None)
        swept = self._sweep(at_once=worth is not None)
        found = self._maintain(bound, worth)
        if found is None and (retired or swept):
            found = self._sizes(Upkeep(horizon=_oldest(self.path)))
        return replace(found, retired=retired, drafts=swept) if found else None

    def _sweep(self, at_once: bool) -> int:
        """Remove data files that nobody has committed, if it is time to look; how many files and folders went."""
        if not at_once and time.monotonic() < self._sweep_at:
            return 0
        self._sweep_at = time.monotonic() + drafts.SWEEP_SECONDS
        if not is_table(self.path):
            return 0
        return drafts.remove(self.path, self._uncommitted(drafts.untouched(self.path, drafts.DATA)))

    def _uncommitted(self, data: Iterable[str]) -> set[str]:
        """Those of some data files and folders of which neither the table nor its log nor a note knows anything."""
        left = {*data} - _tops([*(each.name for each in active_files(open_table(self.path))), *self._removals.names])
        for version in range(_oldest(self.path), newest_version(self.path) + 1) if left else ():
            named = (each.get("add") or each.get("remove") for each in actions_of(self.path, version))
            left -= _tops(each["path"] for each in named if each)
        return left

    def _maintain(self, bound: int | None, worth: int | None) -> Upkeep | None:
        newest, history = newest_version(self.path), History(self.path)
        old, policy = max(self._passed, history.upto), self._policy
        kept, enough = policy.kept, policy.worth
        if policy.is_replaced:
            kept, enough = (max(min(number, self._copies(newest)), 1) for number in (kept, enough))
        upto = newest - kept if bound is None else min(newest - kept, bound - 1)
        enough = enough if worth is None else worth
        if upto - old >= max(enough, 1) and is_table(self.path):
            upto = min(upto, self._newest_batch(newest, old) - 1)  # its writer goes on from what it says
            return self._pass(history, upto, bound) if upto > old else None
        self._remove_replaced(bound)
        return None

    def _copies(self, version: int) -> int:
        """How many commits as large as a version are worth a pass."""
        size = commit_of(version, actions_of(self.path, version)).bytes if version >= 0 else 0
        return LARGE // max(size, 1)

    def _remove_replaced(self, bound: int | None) -> int:
        return self._removals.remove(self.path, time.time() - self._policy.keep_history, bound)

    def _pass(self, history: History, upto: int, bound: int | None) -> Upkeep:
        entries = dict(self._entries(history.upto, upto))
        commits = [commit_of(version, actions) for version, actions in entries.items()]
        if commits:
            self._removals.add_removed(chain.from_iterable(entries.values()), upto)
            history = history.add(commits, self._policy.whole_markers)
        compacted = self._compact(commits)
        create_checkpoint(self.path)
        horizon = self._trim(min(upto, history.upto + 1))
        removed = self._remove_replaced(bound)
        self._passed = upto
        return self._sizes(Upkeep(len(commits), compacted, removed, horizon=horizon))

    def _sizes(self, done: Upkeep) -> Upkeep:
        """What was done, with how large the table is now."""
        table = open_table(self.path)
        sizes = table.get_add_actions().column("size_bytes").to_pylist()
        return replace(done, files=len(sizes), bytes=sum(sizes), newest=table.version())

    def _retire(self, needed: Sequence[int], at_once: bool) -> int:
        """Let files leave whose rows are all older than `keep`; the number of files that left.

        A file stays as long as a version that is needed may have added it, or the log still names it for those who
        walk through all of it.
        """
        keep, now = self._policy.keep, time.time()
        if keep is None or not is_table(self.path):
            return 0
        ages = self._known_ages()
        if ages.is_due(now, keep):
            batch = self._batch_before(newest_version(self.path) + 1)
            self._note_ages(ages := ages.marked(Mark(time.time(), batch)))
        elif not at_once:
            return 0
        mark = ages.leaving(now - keep, self._batch_before(min([_oldest(self.path), *needed])))
        if mark is None:
            return 0
        table = self._open_for_removal()
        old = [each for each in active_files(table) if 0 <= each.last <= mark.batch]
        if old and not self._commit(None, old, table.version(), now):
            return 0
        self._note_ages(ages.without(mark))
        return len(old)

    def _known_ages(self) -> Ages:
        """What is known of the table's age, by a clock that may have been set since the last time."""
        found, now = self._ages or retention.read(self.path), Instant.now()
        jump = self._looked.jump(now) if self._looked else 0.0
        self._looked, self._ages = now, found
        if abs(jump) > _JUMP:
            self._note_ages(found.after_jump(jump))
        return self._ages

    def _open_for_removal(self) -> DeltaTable:
        """The table as of a version from which on rows may leave it."""
        table = open_table(self.path)
        if table.metadata().configuration.get("delta.appendOnly") == "true":
            change_table(self.path, {"delta.appendOnly": "false"})
            table = open_table(self.path)
        return table

    def _note_ages(self, ages: Ages) -> None:
        retention.write(self.path, ages)
        self._ages = ages

    def _batch_before(self, version: int) -> int:
        """The newest batch of the versions before one; -1 if there is none."""
        oldest, history = _oldest(self.path), History(self.path)
        for each in range(version - 1, -1, -1):
            found = commit_of(each, actions_of(self.path, each)) if each >= oldest else history.find(each)
            if found is not None and found.batch >= 0:
                return found.batch
        return -1

    def _newest_batch(self, newest: int, old: int) -> int:
        """The newest version that is a batch of its writer."""
        versions = range(newest, max(old, _oldest(self.path) - 1), -1)
        return next((each for each in versions if commit_of(each, actions_of(self.path, each)).batch >= 0), newest)

    def _entries(self, after: int, upto: int) -> Iterator[tuple[int, list[dict[str, Any]]]]:
        first = max(after + 1, _oldest(self.path))
        return ((version, actions_of(self.path, version)) for version in range(first, upto + 1))

    def _compact(self, commits: Sequence[Commit]) -> int:
        """Compact small files that no later commit has added; return how many were replaced.

        Where rows leave by their age, those of an earlier period get no more neighbours, and are made one at once.
        """
        batch = max((commit.batch for commit in commits), default=-1)
        known = {name for commit in commits for name in commit.files}
        table = open_table(self.path)
        small = [
            each
            for each in active_files(table)
            if each.size < SMALL and each.rows < MANY and (each.name in known or 0 <= each.last <= batch)
        ]
        in_order = sorted(small, key=lambda each: (each.first, each.name))
        ages = self._ages if self._policy.keep is not None else None
        same_age = groupby(in_order, key=lambda each: ages.period(each.last) if ages else 0)
        periods = [[*some] for _, some in same_age]
        found = [*chain(*(groups(some, math.inf) for some in periods[:-1]), *map(groups, periods[-1:]))]
        return sum(self._replace(group, table.version()) for group in found)

    def _replace(self, group: Sequence[ActiveFile], read: int) -> int:
        """Make one file of those that were read as of a version."""
        name = f"compacted-{uuid.uuid4().hex}.parquet"
        rows = parquet.joined([self.path / unquote(each.name) for each in group])
        written = parquet.write(self.path, name, rows)
        if self._commit(written, group, read, time.time()):
            return len(group)
        (self.path / name).unlink()
        return 0

    def _commit(self, added: DataFile | None, removed: Sequence[ActiveFile], read: int, now: float) -> bool:
        """Replace files by one, or by nothing; their removal is noted first, so that none is forgotten.

        `read` is the version as of which they were read.
        """
        latest = newest_version(self.path) + 1 + _ATTEMPTS
        self._removals.add([each.name for each in removed], now, latest)
        version = _commit(self.path, added, removed, read)
        if version is not None:
            self._removals.made(version)
        return version is not None

    def _trim(self, upto: int) -> int:
        """Remove the log before the newest checkpoint up to a version; the first version that is left."""
        files = {file: _version(file) for file in (self.path / "_delta_log").glob(OF_VERSION)}
        checkpoints = (version for file, version in files.items() if ".checkpoint" in file.name)
        horizon = max((version for version in checkpoints if version <= upto), default=-1)
        newest = max(files.values())
        for file, version in sorted(files.items(), key=lambda each: each[1]):
            if version < horizon or (file.name.endswith(".crc") and version < newest - _CHECKSUMS):
                file.unlink(missing_ok=True)
                if version == 0 and isinstance(file, Path):  # with it, a log counts as one that goes back to its first
                    durable.sync([file.parent])
        return max(horizon, 0) if horizon >= 0 else _oldest(self.path)


def _tops(names: Iterable[str]) -> set[str]:
    """The file or the folder of data files, as the log names them."""
    return {unquote(name).partition("/")[0] for name in names}


def _version(file: StorePath) -> int:
    """The version that a file of the log is about."""
    return int(file.name.split(".")[0])


def groups(small: Sequence[ActiveFile], most: float = 2.0) -> Iterator[Sequence[ActiveFile]]:
    """Neighbouring files to be compacted, the newest first; a single one stays as it is.

    A file joins those after it once it has no more than `most` times their size. So a row is written again a few times,
    not by every pass, and what was replaced and stays for its readers is little beside the rows.
    """
    group, size, rows = list[ActiveFile](), 0, 0
    for each in reversed(small):
        if size >= SMALL or rows >= MANY or (group and each.size > most * size):
            yield from [group[::-1]] if len(group) > 1 else []
            group, size, rows = [], 0, 0
        group.append(each)
        size, rows = size + each.size, rows + each.rows
    yield from [group[::-1]] if len(group) > 1 else []


def _commit(path: StorePath, added: DataFile | None, removed: Sequence[ActiveFile], read: int) -> int | None:
    """Replace files by one, or by nothing and so remove their rows; return the version that does so.

    None if somebody has taken one of them since the version as of which they were read, as their rows would be there
    twice, or has changed columns or features.
    """
    now, loses_rows = int(time.time() * 1000), added is None
    marker = json.dumps({MARKER: {UPKEEP: "retention" if loses_rows else "compaction"}})
    operation = "DELETE" if loses_rows else "OPTIMIZE"
    info = {"timestamp": now, "operation": operation, "operationParameters": {}, "userMetadata": marker}
    gone = [
        {"remove": {"path": each.name, "deletionTimestamp": now, "dataChange": loses_rows, "size": each.size}}
        for each in removed
    ]
    new: list[Mapping[str, Any]] = [] if added is None else [added.to_add(data_change=False)]
    actions = [{"commitInfo": {**info, "txnId": uuid.uuid4().hex}}, *gone, *new]
    names, first = frozenset(each.name for each in removed), newest_version(path) + 1
    if not all(_is_harmless(actions_of(path, version), names) for version in range(read + 1, first)):
        return None
    for version in range(first, first + _ATTEMPTS):
        if put_entry(path, version, actions):
            return version
        if not _is_harmless(actions_of(path, version), names):
            return None
    return None


def _is_harmless(actions: Iterable[Mapping[str, Any]], files: Container[str]) -> bool:
    """Whether a commit has taken none of some files, and left columns and features as they were."""
    return not any(
        "metaData" in each or "protocol" in each or ("remove" in each and each["remove"]["path"] in files)
        for each in actions
    )


def _oldest(path: StorePath) -> int:
    """The first entry that the log still has."""
    entries = (path / "_delta_log").glob(VERSION + ".json")
    return min((int(entry.stem) for entry in entries), default=0)
