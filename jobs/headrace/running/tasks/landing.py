"""The task that lands the new records of a domain's topics."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace

from headrace.landing.broker_admin import Offsets
from headrace.landing.landing import LandingQuery
from headrace.landing.landing_time import PUT_BACK
from headrace.reading.status import QueryKind, QueryStatus
from headrace.running.pace import Pace
from headrace.running.tasks.task import CommitSignals, Counters, Log

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
