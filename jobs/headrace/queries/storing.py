"""When the current rows of upserts are stored for readers that do not know their change logs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from headrace.project.model import Project, Query

CURRENT_SECONDS = 30.0
"""The shortest pause between two times, in seconds."""

CURRENT_SHARE = 0.05
"""The largest part of the time that storing takes."""

LARGE = 8 << 20
"""Bytes: what the rows take that were replaced and stay for their readers; of larger ones, a single copy stays."""


class StoringTimes:
    """Says when storing is due: many rows are stored less often, for the time and the room that they take."""

    def __init__(self, keep_history: float, clock: Callable[[], float] = time.monotonic) -> None:
        """`keep_history` is for how many seconds files stay that were replaced; `clock` counts seconds."""
        self._keep_history = keep_history
        self._clock = clock
        self._ended = clock()
        self._took = 0.0
        self.bytes = 0
        """What the rows of one table took on disk the last time, at most."""

    @classmethod
    def of(cls, project: Project, query: Query) -> StoringTimes:
        """Those of a query's upserts."""
        return cls(max(model.keep_history or project.target.keep_history for model in query.models))

    @property
    def is_due(self) -> bool:
        """Whether the pause after the last time is over."""
        room = self._keep_history * min(self.bytes / LARGE, 1.0)
        pause = max(CURRENT_SECONDS, self._took * (1 / CURRENT_SHARE - 1), room)
        return self._clock() - self._ended >= pause

    @contextmanager
    def measured(self) -> Iterator[None]:
        """A block that stores them."""
        begun = self._clock()
        yield
        self._ended = self._clock()
        self._took = self._ended - begun
