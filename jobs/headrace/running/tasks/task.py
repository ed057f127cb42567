"""The interface of a task, and what tasks share: counters, and signals of new commits."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Protocol

from headrace.reading.status import QueryKind, QueryStatus

Log = Callable[..., None]
"""Logs one event with its values."""


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
