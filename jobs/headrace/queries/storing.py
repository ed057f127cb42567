"""When the current rows of upserts are stored for readers that do not know their change logs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

CURRENT_SECONDS = 30.0
"""The shortest pause between two times, in seconds."""

CURRENT_SHARE = 0.05
"""The largest part of the time that storing takes."""


class StoringTimes:
    """Says when storing is due. How long it takes is measured: rows that become many are stored less often."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """`clock` counts seconds."""
        self._clock = clock
        self._ended = clock()
        self._took = 0.0

    @property
    def is_due(self) -> bool:
        """Whether the pause after the last time is over."""
        pause = max(CURRENT_SECONDS, self._took * (1 / CURRENT_SHARE - 1))
        return self._clock() - self._ended >= pause

    @contextmanager
    def measured(self) -> Iterator[None]:
        """A block that stores them."""
        begun = self._clock()
        yield
        self._ended = self._clock()
        self._took = self._ended - begun
