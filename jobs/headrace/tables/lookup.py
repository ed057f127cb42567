"""The current rows of an upsert that another query writes, as of the version of its log that a batch looks up."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame

from headrace.spark.small_batches import SmallBatches
from headrace.store.commits import Commit
from headrace.tables.commit_cache import CommitCache
from headrace.tables.delta import CommitTable
from headrace.tables.state import KeyedState, Stored

_MOST_COMMITS = 100
"""Over more new commits than these the rows are loaded anew."""


class Lookup:
    """Rows that stay in memory: each batch takes in what has changed since the last one, and costs no more than that.

    So it does not matter how long the log is, nor that the same few rows are looked up by every batch.
    """

    def __init__(self, batches: SmallBatches, log: CommitTable, stored: Stored | None, keys: Sequence[str]) -> None:
        """`stored` are the current rows beside the log, from which they are loaded where that is possible."""
        self._batches = batches
        self._log = log
        self._stored = stored
        self._state = KeyedState(batches, log, keys)
        self._version: int | None = None

    @property
    def leaves(self) -> tuple[DataFrame, ...]:
        """The frames that the rows are made of; the same ones as long as plans over them stay valid."""
        return self._state.leaves

    def as_of(self, version: int, cache: CommitCache) -> DataFrame:
        """The rows as of a version of the log; below 0, there is none yet."""
        if self._version is None or not 0 <= version - self._version <= _MOST_COMMITS:
            self._load(version)
        elif changed := [commit for commit in self._after(self._version, version) if commit.added_rows]:
            self._take_in(changed, cache)
        self._version = version
        return self._state.read()

    def drop(self) -> None:
        """Forget the rows; they are loaded anew when they are needed."""
        self._version = None
        self._state.drop()

    def _load(self, version: int) -> None:
        self._version = None  # until all of it is here
        batches = (self._log.commit(each).batch for each in range(version, -1, -1))
        newest = next((batch for batch in batches if batch >= 0), -1)  # upkeep makes commits without a batch
        self._state.load(newest + 1, self._stored)

    def _after(self, known: int, version: int) -> list[Commit]:
        return [self._log.commit(each) for each in range(known + 1, version + 1)]

    def _take_in(self, commits: Sequence[Commit], cache: CommitCache) -> None:
        self._version = None
        name = f"{self._log.path.name} changes"
        changes = cache.take(self._batches, name, self._log, commits)
        if changes is None:
            rows = self._log.rows(self._batches.session, *commits)
            changes = self._batches.compute(name, lambda: rows, rows)
        self._state.apply(changes)
        changes.release()
