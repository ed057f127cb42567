"""The placeholder for a task that could not be opened."""

from __future__ import annotations

import threading

from headrace.errors import HeadraceError
from headrace.reading.status import QueryKind, QueryStatus


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
