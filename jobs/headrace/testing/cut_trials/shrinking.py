"""The smallest part of a list that still shows something: delta debugging, deterministic."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

T = TypeVar("T")


def smallest(items: Sequence[T], shows: Callable[[Sequence[T]], bool], most: int) -> Sequence[T]:
    """A part, in order, that shows it, but not without any one of its items; after `most` calls, the best so far.

    All items together must show it. The beginning is tried first, twice as much each time, since short runs are cheap.
    """
    search = _Search(shows, most)
    return search.reduced(search.beginning(items))


class _Search(Generic[T]):
    """A search with a limited number of calls left."""

    def __init__(self, shows: Callable[[Sequence[T]], bool], most: int) -> None:
        self._shows = shows
        self._left = most

    def beginning(self, items: Sequence[T]) -> Sequence[T]:
        size = 2
        while size < len(items):
            if self._asks(items[:size]):
                return items[:size]
            size *= 2
        return items

    def reduced(self, items: Sequence[T]) -> Sequence[T]:
        size = max(len(items) // 2, 1)
        while len(items) > 1 and self._left:
            parts = [[*items[:start], *items[start + size :]] for start in range(0, len(items), size)]
            smaller = next((part for part in parts if part and self._asks(part)), None)
            if smaller is not None:
                items, size = smaller, min(size, max(len(smaller) // 2, 1))
            elif size == 1:
                break
            else:
                size = max(size // 2, 1)
        return items

    def _asks(self, items: Sequence[T]) -> bool:
        if not self._left:
            return False
        self._left -= 1
        return self._shows(items)
