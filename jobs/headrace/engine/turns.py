"""Whose turn it is: batches that run all at once only hold each other up, so few do, in the order of asking."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

PATIENCE = 5.0
"""Seconds after which a batch runs without a turn: what is slow or hangs delays the others, and never stops them."""


class Turns:
    """Lets some at a time go on. With more work than cores, each query so gets a batch per round.

    Sharing the cores instead gives each query the same time: cheap ones run ever smaller batches, and those of the
    dear ones take minutes.
    """

    def __init__(self, at_once: int, patience: float = PATIENCE) -> None:
        self._free = at_once
        self._patience = patience
        self._waiting: deque[threading.Event] = deque()
        self._lock = threading.Lock()

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Wait for a turn, and have it while the block runs."""
        mine = threading.Event()
        with self._lock:
            self._waiting.append(mine)
            self._admit()
        mine.wait(self._patience)
        try:
            yield
        finally:
            self._end(mine)

    def _end(self, mine: threading.Event) -> None:
        with self._lock:
            if mine.is_set():
                self._free += 1
            else:
                self._waiting.remove(mine)
            self._admit()

    def _admit(self) -> None:
        while self._free and self._waiting:
            self._free -= 1
            self._waiting.popleft().set()
