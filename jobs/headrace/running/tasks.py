"""The running parts of a project, tasks that do one step at a time: landing, group, native, snapshot, publisher."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from typing import Protocol

from pyspark.sql.streaming.listener import StreamingQueryProgress

from headrace.errors import HeadraceError
from headrace.landing.broker_admin import Offsets
from headrace.landing.landing import LandingQuery
from headrace.landing.landing_time import PUT_BACK
from headrace.publishing.publisher import Publisher
from headrace.queries.group import Group
from headrace.queries.snapshot import SnapshotQuery
from headrace.reading.status import QueryKind, QueryStatus
from headrace.running.pace import Pace
from headrace.streaming.native import NativeQuery

Log = Callable[..., None]
"""Logs one event with its values."""


class CommitSignals:
    """Notifies subscribers of new commits, by table."""

    def __init__(self) -> None:
        self._waiting: dict[str, list[threading.Event]] = {}

    def subscribe(self, tables: Iterable[str]) -> threading.Event:
        """An event that is set whenever one of these tables has a new commit."""
        event = threading.Event()
        for table in tables:
            self._waiting.setdefault(table, []).append(event)
        return event

    def notify(self, table: str) -> None:
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
    failed: Counter[str] = field(default_factory=Counter)
    last_step: float = field(default_factory=time.monotonic)

    def took(self, batch: int | None, rows: int) -> None:
        """Count a step; the rate is over the time since the one before."""
        now = time.monotonic()
        self.rate = rows / max(now - self.last_step, 1e-3)
        self.batch, self.rows, self.last_step = batch, self.rows + rows, now

    def idle(self) -> None:
        """There was no input; the rate falls to zero after a while."""
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

    @property
    def is_caught_up(self) -> bool:
        """Whether it has processed all input that its last step saw."""

    def finish(self) -> None:
        """Do what is due once at a clean end."""

    def close(self) -> None:
        """Release what a new attempt would open again; called between steps only."""

    def status(self) -> QueryStatus:
        """Its current status, without its state."""


_PUT_BACK = "landing time is ahead of it, and goes on at half speed until it has caught up"
_GONE = "it was read and is gone; nobody knows what it still held"


class LandingTask:
    """Lands new records, with a pause from one batch to the next (see `pace`)."""

    kind: QueryKind = "landing"
    poll = 0.1

    def __init__(self, query: LandingQuery, interval: float, max_rows: int, signals: CommitSignals, log: Log) -> None:
        self.query = query
        self.name = query.landing.query
        self.table = f"_landing.{query.landing.name}"
        self.wake = signals.subscribe([])
        self.upto: Offsets | None = None
        self.waiting: Callable[[], bool] = lambda: False
        self.comparing: Callable[[], bool] = lambda: False
        self.tick_after = 5.0
        self.idle_after: Mapping[str, float] = {}
        self._moved, self._read = dict[str, float](), dict[str, int]()
        self._ticked, self._at_start = time.monotonic(), True
        self._pace, self._max_rows, self._signals, self._log = Pace(interval), max_rows, signals, log
        self._counters = Counters()
        self._gone: frozenset[str] = frozenset()
        self._is_ahead = False
        self._next = 0.0

    def step(self) -> bool:
        if time.monotonic() < self._next:
            return False
        started = time.monotonic()
        report = self.query.step(self._max_rows, self.upto)
        self._note_moves()
        self._report_trouble()
        if report is None:
            self._counters.idle()
            self._tick(started)
            return False
        self._at_start = False
        self._pace.note(report.records)
        self._next = started + (self._pace.seconds if self.upto is None else 0.0)
        self._counters.took(report.batch, report.records)
        self._counters.rejected += report.rejected
        self._signals.notify(self.table)
        fields = {"batch": report.batch, "rows": report.records, "rejected": report.rejected}
        self._log("landed", query=self.name, **fields, s=round(time.monotonic() - started, 3))
        self.query.table.checkpoint()
        if self.upto is None and (self.query.lag or 0) <= self._max_rows:  # else there is more to read
            self._tick(started)
        return True

    @property
    def is_caught_up(self) -> bool:
        return self.query.lag is not None and self.query.lag <= self._max_rows

    def _tick(self, now: float) -> None:
        """Let time pass where something waits for it and nothing comes; Kafka has answered, so it is up.

        `now` is a moment before Kafka was asked: what has been sent since then is unknown.

        A run over available input does so at its start only, and not if there is something to read: until all of that
        has been read, its own times count. While some sources are idle and others are not, only a query that
        compares the times of its streams needs a tick.
        """
        at_start, self._at_start = self._at_start, False
        idle = tuple(name for name, after in self.idle_after.items() if now - self._moved.get(name, 0.0) >= after)
        is_quiet = now - max(self._moved.values(), default=0.0) >= self.tick_after
        due = at_start if self.upto else now - self._ticked >= self.tick_after
        if due and (((self.upto or is_quiet) and self.waiting()) or (idle and self.comparing())):
            self._ticked = now
            if self.query.tick(None if self.upto or len(idle) == len(self.idle_after) else idle) is not None:
                self._signals.notify(self.table)

    def _report_trouble(self) -> None:
        """Say once of each topic that it is no longer there, and that the clock was put back; reading goes on."""
        for topic in sorted(self.query.gone - self._gone):
            self._log("topic_gone", query=self.name, topic=topic, hint=_GONE)
        self._gone = self.query.gone
        ahead = self.query.time.ahead
        if ahead >= PUT_BACK and not self._is_ahead:
            self._log("clock_put_back", query=self.name, seconds=round(ahead.total_seconds()), hint=_PUT_BACK)
        self._is_ahead = ahead >= PUT_BACK

    def _note_moves(self) -> None:
        """Note which sources had new records; at the first step all had."""
        read = self.query.progress
        for topic in self.query.landing.topics:
            if self._read.get(topic.topic) != read.get(topic.topic, 0):
                self._moved[topic.name] = time.monotonic()
        self._read = {topic.topic: read.get(topic.topic, 0) for topic in self.query.landing.topics}

    def finish(self) -> None:
        """Nothing is left to do."""

    def close(self) -> None:
        self.query.forget()

    def status(self) -> QueryStatus:
        c = self._counters
        status = QueryStatus(self.name, self.kind, batch=c.batch, rows=c.rows, rows_per_second=c.rate)
        status = replace(status, rejected=c.rejected, behind_by=self.query.lag, pause=self._pace.seconds)
        if not self.query.gone:
            return status
        return replace(status, behind_by=None, last_error=f"topic {', '.join(sorted(self.query.gone))}: {_GONE}")


class GroupTask:
    """Runs a group's micro-batches as soon as there is input."""

    kind: QueryKind = "micro_batch"
    poll = 1.0

    def __init__(self, group: Group, max_rows: int, signals: CommitSignals, log: Log) -> None:
        self.group = group
        self.name = group.query.name
        self.wake = signals.subscribe(group.sources)
        self.group.on_commit = signals.notify
        self._max_rows, self._log = max_rows, log
        self._counters = Counters()

    def step(self) -> bool:
        report = self.group.step(self._max_rows)
        if report is None:
            self._counters.idle()
            return False
        self._counters.took(report.batch, report.input_rows)
        for line in report.lines:
            self._log("progress", query=self.name, batch=report.batch, line=line)
        for test, rows in report.failed.items():
            self._log("test_failed", query=self.name, batch=report.batch, test=test, rows=rows)
        self._counters.failed.update(report.failed)
        rows_out = {table: rows for table, rows in report.output_rows.items() if rows}
        fields = {"batch": report.batch, "rows": report.input_rows, "out": rows_out}
        self._log("batch", query=self.name, **fields, s=round(report.seconds, 3))
        return True

    @property
    def is_caught_up(self) -> bool:
        return self.group.behind == 0

    def finish(self) -> None:
        self.group.rest()

    def close(self) -> None:
        self.group.drop()

    def status(self) -> QueryStatus:
        c = self._counters
        status = QueryStatus(self.name, self.kind, batch=c.batch, rows=c.rows, rows_per_second=c.rate)
        status = replace(status, state_rows=self.group.state_rows, behind_by=self.group.behind)
        return replace(status, failed=dict(c.failed))


class NativeTask:
    """Watches over a query that Spark's streaming engine runs by itself."""

    kind: QueryKind = "streaming"
    poll = 0.5

    def __init__(
        self, query: NativeQuery, signals: CommitSignals, log: Log, after: Callable[[], bool] | None = None
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
        return replace(status, watermark=q.watermark, state_rows=q.state_rows, late=q.late.count, failed=dict(q.failed))


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


class UnopenedTask:
    """A placeholder for what could not be opened: it fails with the reason, and the others continue."""

    poll = 1.0

    def __init__(self, name: str, kind: QueryKind, cause: str) -> None:
        self.name, self.kind = name, kind
        self.wake = threading.Event()
        self.cause = cause

    def step(self) -> bool:
        raise HeadraceError(self.cause)

    @property
    def is_caught_up(self) -> bool:
        return True

    def finish(self) -> None:
        """Nothing was begun."""

    def close(self) -> None:
        """Nothing is open."""

    def status(self) -> QueryStatus:
        return QueryStatus(self.name, self.kind)


class PublisherTask:
    """Sends a model's new rows to Kafka."""

    kind: QueryKind = "publisher"
    poll = 1.0

    def __init__(self, publisher: Publisher, signals: CommitSignals, log: Log) -> None:
        self.publisher = publisher
        self.name = f"publish_{publisher.model.name}"
        self.wake = signals.subscribe([publisher.model.table])
        self._log = log
        self._counters = Counters()

    def step(self) -> bool:
        sent = self.publisher.step()
        if sent is None:
            self._counters.idle()
            return False
        self._counters.took(self.publisher.version - 1, sent)
        if sent:
            self._log("published", query=self.name, version=self.publisher.version - 1, rows=sent)
        return True

    @property
    def is_caught_up(self) -> bool:
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
