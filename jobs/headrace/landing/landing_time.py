"""The time of landing batches: the machine's clock, except that it never goes back and never stands still.

Where a clock was ahead and is put back, landing time goes on from what has landed at half speed, so that deadlines
pass, until the clock has caught up.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime, timedelta, timezone

PUT_BACK = timedelta(seconds=10)
"""A clock that differs by this much was set by somebody; smaller steps are ordinary adjustments."""


def _clock() -> datetime:
    return datetime.now(timezone.utc)


class LandingTime:
    """Reads the machine's clock, and remembers the time of the newest batch."""

    def __init__(self, clock: Callable[[], datetime] = _clock, elapsed: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._elapsed = clock, elapsed
        self.newest = datetime.min.replace(tzinfo=timezone.utc)
        """The time of the newest batch."""
        self._noted = elapsed()
        self.ahead = timedelta()
        """By how much landing time was ahead of the clock when it was read last."""

    def note(self, moment: datetime) -> None:
        """Take in the time of the newest batch."""
        self.newest, self._noted = moment, self._elapsed()

    def read(self) -> datetime:
        """The landing time now."""
        now, least = self._clock(), self.newest + timedelta(seconds=self._elapsed() - self._noted) / 2
        self.ahead = max(least - now, timedelta())
        return max(now, least)
