"""The running parts of a project, each a task that does one step at a time: landing, group, native, publisher."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Protocol

from pyspark.sql.streaming.listener import StreamingQueryProgress

from headrace.engine.broker_admin import Offsets
from headrace.engine.group import Group
from headrace.engine.landing import LandingQuery
from headrace.engine.native import NativeQuery
from headrace.engine.publisher import Publisher
from headrace.reading.status import QueryKind, QueryStatus

Say = Callable[..., None]
"""Logs one event with its values."""


class Bells:
    """Who wants to know that a table has a new commit."""

    def __init__(self) -> None:
        self._waiting: dict[str, list[threading.Event]] = {}

    def subscribe(self, tables: Iterable[str]) -> threading.Event:
        """An event that is set whenever one of these tables is rung."""
        event = threading.Event()
        for table in tables:
            self._waiting.setdefault(table, []).append(event)
        return event

    def ring(self, table: str) -> None:
        """Wake everyone who reads a table."""
        for event in self._waiting.get(table, []):
            event.set()


@dataclass
class Counters:
    """What a task has done in this run."""

    batch: int | None = None
    rows: int = 0
    rejected: int = 0
    rate: float = 0.0
    behind: int | None = None
    last_step: float = field(default_factory=time.monotonic)

    def took(self, batch: int | None, rows: int) -> None:
        """Count a step; the rate is over the time since the one before."""
        now = time.monotonic()
        self.rate = rows / max(now - self.last_step, 1e-3)
        self.batch, self.rows, self.last_step = batch, self.rows + rows, now

    def idle(self) -> None:
        """Nothing came; the rate falls to zero after a while."""
        if time.monotonic() - self.last_step > 5:
            self.rate = 0.0


class Task(Protocol):
    """One thing that runs for as long as the project does."""

    name: str
    kind: QueryKind
    wake: threading.Event
    poll: float

    def step(self) -> bool:
        """Do the next piece of work; False if there was none."""

    def finish(self) -> None:
        """Do what is due once at a clean end."""

    def close(self) -> None:
        """Let go of what a new attempt would open again; called between steps only."""

    def status(self) -> QueryStatus:
        """What is to be said of it now, without its state."""


class LandingTask:
    """Lands new records, at most once per interval."""

    kind: QueryKind = "landing"
    poll = 0.1

    def __init__(self, query: LandingQuery, interval: float, max_rows: int, bells: Bells, say: Say) -> None:
        self.query = query
        self.name = query.landing.query
        self.table = f"_landing.{query.landing.name}"
        self.wake = bells.subscribe([])
        self.upto: Offsets | None = None
        self.waiting: Callable[[], bool] = lambda: False
        self.tick_after = 5.0
        self._moved, self._at_start = time.monotonic(), True
        self._interval, self._max_rows, self._bells, self._say = interval, max_rows, bells, say
        self._counters = Counters()
        self._next = 0.0

    def step(self) -> bool:
        if time.monotonic() < self._next:
            return False
        started = time.monotonic()
        report = self.query.step(self._max_rows, self.upto)
        if report is None:
            self._counters.idle()
            return self._tick()
        self._moved, self._at_start = time.monotonic(), False
        self._next = started + (self._interval if self.upto is None else 0.0)
        self._counters.took(report.batch, report.records)
        self._counters.rejected += report.rejected
        self._bells.ring(self.table)
        told = {"batch": report.batch, "rows": report.records, "rejected": report.rejected}
        self._say("landed", query=self.name, **told, s=round(time.monotonic() - started, 3))
        return True

    def _tick(self) -> bool:
        """Let time pass where something waits for it and nothing comes; Kafka has answered, so it is up.

        A run over what is there does so at its start only, and not if there is something to read: until all of that
        has been read, its own times count.
        """
        due = self._at_start if self.upto else time.monotonic() - self._moved >= self.tick_after
        self._at_start = False
        if due and self.waiting():
            self._moved = time.monotonic()
            if self.query.tick() is not None:
                self._bells.ring(self.table)
        return False

    def finish(self) -> None:
        """Nothing is left to do."""

    def close(self) -> None:
        self.query.forget()

    def status(self) -> QueryStatus:
        c = self._counters
        status = QueryStatus(self.name, self.kind, batch=c.batch, rows=c.rows, rows_per_second=c.rate)
        return replace(status, rejected=c.rejected, behind_by=self.query.lag)


class GroupTask:
    """Runs a group's micro-batches as soon as there is input."""

    kind: QueryKind = "micro_batch"
    poll = 1.0

    def __init__(self, group: Group, max_rows: int, bells: Bells, say: Say) -> None:
        self.group = group
        self.name = group.query.name
        self.wake = bells.subscribe(group.sources)
        self._max_rows, self._bells, self._say = max_rows, bells, say
        self._counters = Counters()

    def step(self) -> bool:
        report = self.group.step(self._max_rows)
        if report is None:
            self._counters.idle()
            return False
        self._counters.took(report.batch, report.input_rows)
        for table, rows in report.output_rows.items():
            if rows:
                self._bells.ring(table)
        for line in report.lines:
            self._say("progress", query=self.name, batch=report.batch, line=line)
        rows_out = {table: rows for table, rows in report.output_rows.items() if rows}
        told = {"batch": report.batch, "rows": report.input_rows, "out": rows_out}
        self._say("batch", query=self.name, **told, s=round(report.seconds, 3))
        return True

    def finish(self) -> None:
        self.group.store_current()

    def close(self) -> None:
        self.group.drop()

    def status(self) -> QueryStatus:
        c = self._counters
        status = QueryStatus(self.name, self.kind, batch=c.batch, rows=c.rows, rows_per_second=c.rate)
        return replace(status, state_rows=self.group.state_rows, behind_by=self.group.behind)


class NativeTask:
    """Watches over a query that Spark's streaming engine runs by itself."""

    kind: QueryKind = "streaming"
    poll = 0.5

    def __init__(self, query: NativeQuery, bells: Bells, say: Say, after: Callable[[], bool] | None = None) -> None:
        """With `after` it reads what is there once that holds, and ends; else it goes on for ever."""
        self.query = query
        self.name = query.model.name
        self.wake = bells.subscribe([])
        self._bells, self._say, self._after = bells, say, after
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
        return not ended

    def _report(self, progress: StreamingQueryProgress | None) -> None:
        if progress and progress["batchId"] != self._last:
            self._last, self._rows = progress["batchId"], self._rows + progress["numInputRows"]
            self._bells.ring(self.query.model.table)
            if progress["numInputRows"]:
                self._say("batch", query=self.name, batch=self._last, rows=progress["numInputRows"])

    def finish(self) -> None:
        """Nothing is left to do."""

    def close(self) -> None:
        self.query.stop()
        self.query.running = None

    def status(self) -> QueryStatus:
        q = self.query
        rate = float(q.progress.get("processedRowsPerSecond") or 0.0)
        status = QueryStatus(self.name, self.kind, batch=self._last, rows=self._rows, rows_per_second=rate)
        return replace(status, watermark=q.watermark, state_rows=q.state_rows, late=q.late)


class PublisherTask:
    """Sends a model's new rows to Kafka."""

    kind: QueryKind = "publisher"
    poll = 1.0

    def __init__(self, publisher: Publisher, bells: Bells, say: Say) -> None:
        self.publisher = publisher
        self.name = f"publish_{publisher.model.name}"
        self.wake = bells.subscribe([publisher.model.table])
        self._say = say
        self._counters = Counters()

    def step(self) -> bool:
        sent = self.publisher.step()
        if sent is None:
            self._counters.idle()
            return False
        self._counters.took(self.publisher.version - 1, sent)
        if sent:
            self._say("published", query=self.name, version=self.publisher.version - 1, rows=sent)
        return True

    def finish(self) -> None:
        """Nothing is left to do."""

    def close(self) -> None:
        self.publisher.close()

    def status(self) -> QueryStatus:
        c = self._counters
        return QueryStatus(
            self.name, self.kind, batch=c.batch, rows=c.rows, rows_per_second=c.rate, rejected=self.publisher.set_aside
        )
