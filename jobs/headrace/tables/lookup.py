"""The current rows of an upsert that another query writes, as of the version of its log that a batch looks up."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame

from headrace.spark.session import SMALL_BATCH_ROWS
from headrace.spark.small_batches import SmallBatches
from headrace.store.commits import Commit
from headrace.tables.commit_cache import CommitCache
from headrace.tables.delta import CommitTable
from headrace.tables.state import KeyedState, Stored

_MOST_COMMITS = 100
"""With more new commits than this, all rows are loaded again."""


class Lookup:
    """Rows that stay in memory: each batch takes in what has changed since the last one, and costs no more than that.

    So it does not matter how long the log is, nor that the same few rows are looked up by every batch.
    """

    def __init__(self, batches: SmallBatches, log: CommitTable, stored: Stored | None, keys: Sequence[str]) -> None:
        """`stored` are the current rows next to the log, from which they are loaded where that is possible."""
        self._batches = batches
        self._log = log
        self._stored = stored
        self._state = KeyedState(batches, log, keys)
        self._version: int | None = None

    @property
    def leaves(self) -> tuple[DataFrame, ...]:
        """The frames that the rows are made of; the same ones as long as plans over them stay valid."""
        return self._state.leaves

    def weight(self, version: int) -> int:
        """About how many rows of usual size it takes to get to a version of the log."""
        changed = self._changed(version)
        if changed is None:
            changed = self._log.past(self._newest_batch(version) + 1)
        return SMALL_BATCH_ROWS + 1 if changed is None else max(self._state.count, sum(each.weight for each in changed))

    def as_of(self, version: int, cache: CommitCache) -> DataFrame:
        """The rows as of a version of the log; below 0, there is none yet."""
        changed = self._changed(version)
        if changed is None:
            self._load(version)
        elif changed:
            self._take_in(changed, cache)
        self._version = version
        return self._state.read()

    def drop(self) -> None:
        """Forget the rows; they are loaded again when they are needed."""
        self._version = None
        self._state.drop()

    def _load(self, version: int) -> None:
        self._version = None  # until all of it is here
        self._state.load(self._newest_batch(version) + 1, self._stored)

    def _newest_batch(self, version: int) -> int:
        """The last batch as of a version; upkeep makes commits without one."""
        batches = (self._log.commit(each).batch for each in range(version, -1, -1))
        return next((batch for batch in batches if batch >= 0), -1)

    def _changed(self, version: int) -> list[Commit] | None:
        """The commits with rows that are still to be taken in; None where all is to be loaded."""
        if self._version is None or not 0 <= version - self._version <= _MOST_COMMITS:
            return None
        commits = (self._log.commit(each) for each in range(self._version + 1, version + 1))
        return [commit for commit in commits if commit.added_rows]

    def _take_in(self, commits: Sequence[Commit], cache: CommitCache) -> None:
        self._version = None
        name = f"{self._log.path.name} changes"
        changes = cache.take(self._batches, name, self._log, commits)
        if changes is None:
            rows = self._log.rows(self._batches.session, *commits)
            changes = self._batches.compute(name, lambda: rows, rows)
        self._state.apply(changes)
        changes.release()
