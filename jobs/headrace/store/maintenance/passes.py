"""Maintenance of one Delta table: what keeps its log, its files and its start small, however old it gets.

A pass takes the commits that are neither among the newest `KEPT` nor wanted by a reader of the log itself, and

1. notes them in the table's history, so their entries are not needed any more;
2. compacts small neighbouring files of about the same size, by a commit that changes no rows (`dataChange: false`);
3. writes a checkpoint of the log;
4. removes what comes before the newest checkpoint that no reader of the log is behind;
5. removes files that were replaced longer ago than `keep_history`, once no reader needs a version that has them.

Where a table has `keep`, files whose rows are all older leave it by a commit of their own (`retiring`), as long as no
reader has still to read them; they too are removed after `keep_history`. Of a change log, what was replaced leaves.

Once an hour, data files that killed writers have left uncommitted are removed (`removal/drafts`).

Each step can be interrupted: the next pass continues from what is stored. It needs no lock: a batch that commits
at the same time takes the next version, and a foreign change in between ends the pass.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from headrace.store import durable
from headrace.store.commits import (
    OF_VERSION,
    Commit,
    actions_of,
    commit_of,
    newest_version,
    oldest_version,
)
from headrace.store.delta_tables import create_checkpoint, is_table, open_table
from headrace.store.history import History
from headrace.store.maintenance.compaction import groups_by_age, is_small
from headrace.store.maintenance.retiring import Retirement
from headrace.store.maintenance.rewriting import Rewrite, Rewriter
from headrace.store.maintenance.superseded import ChangeKeys
from headrace.store.paths import StorePath
from headrace.store.removal import drafts
from headrace.store.removal.data_files import ActiveFile, Removals, active_files

KEPT = 100
"""The newest commits, which stay as they are: for readers that are a little behind, here and elsewhere."""

WORTH = 80
"""How many commits beyond those are worth a pass."""

LARGE = 1 << 20
"""Bytes: commits that together leave more behind are worth a pass."""

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

    `keys` are those of a change log: of its old rows, only those leave that later ones have replaced.
    `whole_markers` keeps all that commits say of themselves. `keep` is how many seconds rows stay, None for all time.
    `is_replaced` says that a commit leaves behind all that was there, and that nobody reads commit by commit: then the
    newest ones stay, and are worth a pass once they are so many or take `LARGE` bytes.
    """

    keep_history: float
    keep: float | None = None
    keys: ChangeKeys | None = None
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
        self._rewriter = Rewriter(path, self._removals)
        self._retirement: Retirement | None = None
        if policy.keep is not None:
            self._retirement = Retirement(self._rewriter, policy.keep, policy.keys)
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
        needed = [each for each in (bound, unread) if each is not None]
        retired = self._retirement.step(needed, worth is not None) if self._retirement else 0
        swept = self._sweep(at_once=worth is not None)
        found = self._maintain(bound, worth)
        if found is None and (retired or swept):
            found = self._sizes(Upkeep(horizon=oldest_version(self.path)))
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
        for version in range(oldest_version(self.path), newest_version(self.path) + 1) if left else ():
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

    def _newest_batch(self, newest: int, old: int) -> int:
        """The newest version that is a batch of its writer."""
        versions = range(newest, max(old, oldest_version(self.path) - 1), -1)
        return next((each for each in versions if commit_of(each, actions_of(self.path, each)).batch >= 0), newest)

    def _entries(self, after: int, upto: int) -> Iterator[tuple[int, list[dict[str, Any]]]]:
        first = max(after + 1, oldest_version(self.path))
        return ((version, actions_of(self.path, version)) for version in range(first, upto + 1))

    def _compact(self, commits: Sequence[Commit]) -> int:
        """Compact small files that no later commit has added; return how many were replaced."""
        batch = max((commit.batch for commit in commits), default=-1)
        known = {name for commit in commits for name in commit.files}
        table = open_table(self.path)
        found = [each for each in active_files(table) if each.name in known or 0 <= each.last <= batch]
        ages = self._retirement.known if self._retirement else None
        groups = [*groups_by_age([*filter(is_small, found)], ages)]
        return sum(self._replace(group, table.version()) for group in groups)

    def _replace(self, group: Sequence[ActiveFile], read: int) -> int:
        """Make one file of those that were read as of a version."""
        written = self._rewriter.write(self._rewriter.rows(group))
        return len(group) if self._rewriter.commit(Rewrite(group, [written]), read) else 0

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
        return max(horizon, 0) if horizon >= 0 else oldest_version(self.path)


def _tops(names: Iterable[str]) -> set[str]:
    """The file or the folder of data files, as the log names them."""
    return {unquote(name).partition("/")[0] for name in names}


def _version(file: StorePath) -> int:
    """The version that a file of the log is about."""
    return int(file.name.split(".")[0])
