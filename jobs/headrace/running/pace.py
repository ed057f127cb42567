"""How long a landing waits from one batch to the next: the less there is to land, the shorter.

A batch costs about the same however few records it has, so many small ones cost more than a large one. Where only a few
records a second come, that does not matter, and a record that waits for the next batch waits for nothing. So the pause
follows the rate of the last seconds: `SHORTEST` up to `QUIET` records a second, then in proportion, and from `BUSY` on
what the target says (`trigger.ingest`), which is never exceeded. What a batch of `FULL` records costs is mostly for its
records, so where as many come sooner, the pause is up to `SPARED` shorter.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

SHORTEST = 0.1
"""Seconds; Kafka is asked as often anyway."""

QUIET, BUSY = 4.0, 20.0
"""Records a second."""

FULL = 600
"""Records. At 1,000 a second, shipping takes a quarter more CPU with batches of so many than with one each second."""

SPARED = 0.5
"""Seconds. Who asks for a pause of a minute wants few commits, and gets few."""

WINDOW = 5.0
"""Seconds over which the rate is measured."""


def pause(rate: float, longest: float) -> float:
    """Seconds between the starts of two batches, at so many records a second."""
    share = min(max((rate - QUIET) / (BUSY - QUIET), 0.0), 1.0)
    full = max(FULL / rate, longest - SPARED) if rate else longest
    return max(min(share * longest, full), min(SHORTEST, longest))


class Pace:
    """The pause of one landing, by what it has landed lately."""

    def __init__(self, longest: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._longest = longest
        self._clock = clock
        self._landed = deque[tuple[float, int]]()

    def note(self, records: int) -> None:
        """Note a batch that was just landed."""
        self._landed.append((self._clock(), records))

    @property
    def seconds(self) -> float:
        """The pause as of now."""
        since = self._clock() - WINDOW
        while self._landed and self._landed[0][0] < since:
            self._landed.popleft()
        return pause(sum(records for _, records in self._landed) / WINDOW, self._longest)
