"""Requests that wait for news of an order; their number is limited."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterable
from types import TracebackType


class NoRoom(Exception):
    """Too many requests are waiting."""


class Waiters:
    """The requests that wait, by order."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.closed = False
        self._waiting: dict[str, set[Waiter]] = defaultdict(set)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def join(self, key: str) -> Waiter:
        """Take a place; to be given back with `leave`, or as a context."""
        if self._count >= self.limit:
            raise NoRoom(f"{self.limit} requests wait already")
        waiter = Waiter(self, key)
        self._waiting[key].add(waiter)
        self._count += 1
        return waiter

    def leave(self, waiter: Waiter) -> None:
        """Give a place back; idempotent."""
        mine = self._waiting.get(waiter.key, set())
        if waiter in mine:
            mine.remove(waiter)
            self._count -= 1
            if not mine:
                del self._waiting[waiter.key]

    def notify(self, keys: Iterable[str]) -> None:
        """Wake all who wait for these orders."""
        for key in set(keys) & self._waiting.keys():
            for waiter in self._waiting[key]:
                waiter.news.set()

    def close(self) -> None:
        """Wake all, for the last time."""
        self.closed = True
        self.notify(list(self._waiting))


class Waiter:
    """One request that waits for an order."""

    def __init__(self, waiters: Waiters, key: str) -> None:
        self.key = key
        self.news = asyncio.Event()
        self._waiters = waiters

    def __enter__(self) -> Waiter:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._waiters.leave(self)

    async def wait_for_news(self, timeout: float) -> bool:
        """Wait for news since the last call; False if none came in time."""
        try:
            await asyncio.wait_for(self.news.wait(), max(timeout, 0))
        except asyncio.TimeoutError:
            return False
        self.news.clear()
        return True
