"""The task that takes the snapshots of a model."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timezone

from headrace.queries.snapshot import SnapshotQuery
from headrace.reading.status import QueryKind, QueryStatus
from headrace.running.tasks.task import CommitSignals, Counters, Log


class SnapshotTask:
    """Takes a snapshot whenever one is due."""

    kind: QueryKind = "snapshot"

    def __init__(
        self, query: SnapshotQuery, signals: CommitSignals, log: Log, after: Callable[[], bool] | None = None
    ) -> None:
        """With `after` it takes one, once that holds, and ends; else it runs until stopped."""
        self.query = query
        self.name = query.model.name
        self.wake = signals.subscribe([])
        self.poll = 1.0
        self._signals, self._log, self._after = signals, log, after
        self._counters = Counters()
        self._started, self._is_done = datetime.now(timezone.utc), False

    def step(self) -> bool:
        now = datetime.now(timezone.utc)
        if self._is_done or (self._after and not self._after()):
            return False
        report = self.query.step(now, is_last=self._after is not None)
        self.poll = min(max(self.query.seconds_left(datetime.now(timezone.utc)), 0.0), 1.0)
        if report is None:
            self._is_done = self._after is not None
            return False
        # A snapshot that an earlier run had begun is not the one that this run is to take; clocks may be put back.
        self._started = min(self._started, now)
        self._is_done = self._after is not None and report.taken_at >= self._started
        self._counters.took(report.batch, report.rows)
        self._signals.notify(self.query.model.table)
        self._log("snapshot", query=self.name, batch=report.batch, rows=report.rows)
        return True

    @property
    def is_caught_up(self) -> bool:
        return True

    def finish(self) -> None:
        """Nothing is left to do."""

    def close(self) -> None:
        self.query.drop()

    def status(self) -> QueryStatus:
        c = self._counters
        return QueryStatus(self.name, self.kind, batch=c.batch, rows=c.rows, rows_per_second=c.rate)
