"""The task that watches over a model in Spark's streaming engine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from pyspark.sql.streaming.listener import StreamingQueryProgress

from headrace.reading.status import QueryKind, QueryStatus
from headrace.running.tasks.task import CommitSignals, Log
from headrace.streaming.query import StreamedQuery


class StreamedTask:
    """Watches over a query that Spark's streaming engine runs by itself."""

    kind: QueryKind = "streaming"
    poll = 0.5

    def __init__(
        self, query: StreamedQuery, signals: CommitSignals, log: Log, after: Callable[[], bool] | None = None
    ) -> None:
        """With `after` it reads what is there once that holds, and ends; else it runs until stopped."""
        self.query = query
        self.name = query.model.name
        self.wake = signals.subscribe([])
        self._signals, self._log, self._after = signals, log, after
        self._last: int | None = None
        self._rows = 0

    def step(self) -> bool:
        if self.query.running is None:
            if self._after and not self._after():
                return False
            self.query.start(self._after is not None)
            return True
        running = self.query.running
        ended = self._after is None or running.awaitTermination(1)
        error = running.exception()
        if error is not None:
            raise error
        self._report(running.lastProgress)
        if self.query.storing.is_due:
            self._store_current()
        return not ended

    @property
    def is_caught_up(self) -> bool:
        return self.query.running is not None and self.query.running.lastProgress is not None

    def _store_current(self) -> None:
        with self.query.storing.measured():
            if self.query.current:
                self.query.current.store()
                self.query.storing.bytes = self.query.current.stored_bytes

    def _report(self, progress: StreamingQueryProgress | None) -> None:
        if progress and progress["batchId"] != self._last:
            self._last, self._rows = progress["batchId"], self._rows + progress["numInputRows"]
            self._signals.notify(self.query.model.table)
            if progress["numInputRows"]:
                self._log("batch", query=self.name, batch=self._last, rows=progress["numInputRows"])

    def finish(self) -> None:
        self.query.stop()
        self._store_current()

    def close(self) -> None:
        self.query.stop()

    def status(self) -> QueryStatus:
        q = self.query
        rate = float(q.progress.get("processedRowsPerSecond") or 0.0)
        status = QueryStatus(self.name, self.kind, batch=self._last, rows=self._rows, rows_per_second=rate)
        held_by, held_for = q.held_by or (None, None)
        status = replace(status, held_by=held_by, held_for=held_for)
        status = replace(status, watermark=q.watermark, state_rows=q.state_rows)
        return replace(status, late=q.output.late.count, failed=dict(q.output.failed))
