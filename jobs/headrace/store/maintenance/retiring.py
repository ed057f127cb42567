"""Rows leave a table once they are old enough, file by file, and a change log what later changes have replaced."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

from deltalake import DeltaTable

from headrace.store.commits import newest_version, oldest_version
from headrace.store.delta_tables import change_table, is_table, open_table
from headrace.store.history import batch_before
from headrace.store.maintenance import retention
from headrace.store.maintenance.compaction import MANY
from headrace.store.maintenance.retention import Ages, Mark
from headrace.store.maintenance.rewriting import Rewrite, Rewriter
from headrace.store.maintenance.superseded import ChangeKeys, Step, next_step
from headrace.store.parquet import DataFile
from headrace.store.removal.data_files import ActiveFile, active_files
from headrace.store.trees import Instant

_JUMP = 10.0
"""Seconds: a clock that differs by more from one look to the next was set."""


class Retirement:
    """Lets rows of one table leave that are older than `keep`, in seconds; of a change log, only replaced changes."""

    def __init__(self, rewriter: Rewriter, keep: float, keys: ChangeKeys | None = None) -> None:
        self._rewriter = rewriter
        self._path = rewriter.path
        self._keep = keep
        self._keys = keys
        self._ages: Ages | None = None
        self._looked: Instant | None = None

    def step(self, needed: Sequence[int], at_once: bool) -> int:
        """Let leave what may; the number of files that left or were rewritten.

        A file stays as long as a version that is needed may have added it, or the log still names it for those who
        walk through all of it.
        """
        now = time.time()
        if not is_table(self._path):
            return 0
        ages = self._known_ages()
        if ages.is_due(now, self._keep):
            batch = batch_before(self._path, newest_version(self._path) + 1)
            self._note(ages := ages.marked(Mark(time.time(), batch)))
        elif not at_once:
            return 0
        mark = ages.leaving(now - self._keep, batch_before(self._path, min([oldest_version(self._path), *needed])))
        if mark is None:
            return 0
        return self._remove(ages, mark) if self._keys is None else self._settle(ages, mark, self._keys)

    @property
    def known(self) -> Ages | None:
        """The ages as of the last step."""
        return self._ages

    def _known_ages(self) -> Ages:
        """What is known of the table's age, by a clock that may have been set since the last time."""
        found, now = self._ages or retention.read(self._path), Instant.now()
        jump = self._looked.jump(now) if self._looked else 0.0
        self._looked, self._ages = now, found
        if abs(jump) > _JUMP:
            self._note(found.after_jump(jump))
        return self._ages

    def _note(self, ages: Ages) -> None:
        retention.write(self._path, ages)
        self._ages = ages

    def _remove(self, ages: Ages, mark: Mark) -> int:
        """Take out the files of which all rows are as old as a mark."""
        table = self._open()
        old = [each for each in active_files(table) if 0 <= each.last <= mark.batch]
        if old and not self._rewriter.commit(Rewrite(old, loses_rows=True), table.version()):
            return 0
        self._note(ages.without(mark))
        return len(old)

    def _settle(self, ages: Ages, mark: Mark, keys: ChangeKeys) -> int:
        """Take out what was replaced by changes as old as a mark, a step after the other; how many files went."""
        gone = 0
        while True:
            table = self._open()
            step = next_step([*active_files(table)], ages.gone.batch, mark.batch, MANY)
            if step is None:
                self._note(ages.without(replace(mark, batch=ages.gone.batch)))
                return gone
            rewrite = self._rewritten(step, keys)
            if rewrite.removed and not self._rewriter.commit(rewrite, table.version()):
                return gone
            gone += len(rewrite.removed)
            self._note(ages := replace(ages, gone=Mark(mark.at, step.batch)))

    def _rewritten(self, step: Step, keys: ChangeKeys) -> Rewrite:
        """The files of a step that have changes to lose, and those in their place."""
        changes = self._rewriter.rows(step.newer)
        newest = keys.newest(changes)
        left = keys.without_deleted(newest)
        removed, added = list[ActiveFile](), list[DataFile]()
        if left.num_rows < changes.num_rows:
            removed += step.newer
            added += [self._rewriter.write(left)] if left.num_rows else []
        for file in step.settled:
            rows = keys.left_of(self._rewriter.rows([file]), newest)
            if rows is not None:
                removed.append(file)
                added += [self._rewriter.write(rows)] if rows.num_rows else []
        return Rewrite(removed, added, loses_rows=True)

    def _open(self) -> DeltaTable:
        """The table as of a version from which on rows may leave it."""
        table = open_table(self._path)
        if table.metadata().configuration.get("delta.appendOnly") == "true":
            change_table(self._path, {"delta.appendOnly": "false"})
            table = open_table(self._path)
        return table
