"""Waiting for a condition, with a generous upper bound."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

PATIENCE = 300.0
"""Seconds within which anything that is waited for must have come, on a machine that is busy with other things."""


def wait_for(
    condition: Callable[[], bool],
    what: str,
    seconds: float = PATIENCE,
    details: Callable[[], str] = lambda: "",
    every: float = 0.05,
) -> None:
    """Wait until a condition holds, checking it `every` so many seconds; if it never does, show `details`."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"{what} has not come\n{details()}"
        pause(every)


def pause(seconds: float) -> None:
    """Let a moment pass: what is awaited has no event, or the moment itself is what is tested."""
    threading.Event().wait(seconds)
