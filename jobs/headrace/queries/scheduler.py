"""The scheduler: batches that run all at once only slow each other down, so few do, in an order."""

from __future__ import annotations

import threading
from bisect import insort
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count

from headrace.reading.status import QueryKind

PATIENCE = 5.0
"""Seconds after which a batch runs without a slot: one that is slow or hangs delays others, and never stops them."""

RANKS: Mapping[QueryKind, int] = {"micro_batch": 0, "landing": 1, "snapshot": 2, "streaming": 2}
"""Which kind goes first: what has landed goes on at once, so that it waits for a slot once, and not at every table.

A group has work only when its sources had a slot, so it does not keep them from the next one for long. Spark's
streaming engine comes last: each of its batches costs the same, however many rows wait.
"""


@dataclass(frozen=True, order=True)
class _Waiting:
    rank: int
    number: int
    admitted: threading.Event = field(default_factory=threading.Event, compare=False)


class Scheduler:
    """Lets a number of batches run at a time. With more work than cores, each query thus gets a batch per round.

    Sharing the cores instead gives each query the same time: cheap ones run ever smaller batches, and those of the
    expensive ones take minutes.
    """

    def __init__(self, at_once: int, patience: float = PATIENCE) -> None:
        self._free = at_once
        self._patience = patience
        self._waiting: list[_Waiting] = []
        self._numbers = count()
        self._lock = threading.Lock()

    @contextmanager
    def slot(self, rank: int = 0) -> Iterator[None]:
        """Wait for a slot, and hold it while the block runs; within a rank in the order of asking."""
        with self._lock:
            mine = _Waiting(rank, next(self._numbers))
            insort(self._waiting, mine)
            self._admit()
        mine.admitted.wait(self._patience)
        try:
            yield
        finally:
            self._end(mine)

    def _end(self, mine: _Waiting) -> None:
        with self._lock:
            if mine.admitted.is_set():
                self._free += 1
            else:
                self._waiting.remove(mine)
            self._admit()

    def _admit(self) -> None:
        while self._free and self._waiting:
            self._free -= 1
            self._waiting.pop(0).admitted.set()
