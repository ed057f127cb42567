"""Waiting, by a condition and never for longer than anything can take."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

PATIENCE = 600.0
"""Seconds within which anything that is waited for must have come, on a machine that is busy with other things."""


def wait_for(
    condition: Callable[[], bool],
    what: str,
    seconds: float = PATIENCE,
    told: Callable[[], str] = lambda: "",
    every: float = 0.05,
) -> None:
    """Wait until a condition holds, looking `every` so many seconds; if it never does, show what is `told` by then."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"{what} has not come\n{told()}"
        pause(every)


def pause(seconds: float) -> None:
    """Let a moment pass: what is awaited has no event of its own, or the moment itself is what is tested."""
    threading.Event().wait(seconds)
