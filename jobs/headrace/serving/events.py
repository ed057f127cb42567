"""Recent events of orders: the topic's records that are not in Delta yet, in a private temporary database."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass
from heapq import merge
from itertools import groupby

from headrace.serving.order import CREATED

_CACHE_KIB = 65_536


@dataclass(frozen=True)
class Event:
    """One state of an order: a record of the topic, with its value as text and its time in milliseconds."""

    partition: int
    offset: int
    time: int
    order_id: str
    state: str
    body: str

    @property
    def place(self) -> tuple[int, int]:
        """Its place in the topic."""
        return self.partition, self.offset


class Recent:
    """Records of the topic by order; however many there are, memory use is bounded.

    `positions` are the next offsets to come, by partition. `notify` is called with the ids of orders that have
    news. To be used from one thread.
    """

    def __init__(self, notify: Callable[[Iterable[str]], None]) -> None:
        self._notify = notify
        self.positions: dict[int, int] = {}
        self.caught_up = asyncio.Event()
        """All that was in the topic at the start is here."""
        self.settled = asyncio.Event()
        """Caught up, or the broker could not be reached."""
        self.size = 0
        self._store = sqlite3.connect("", isolation_level=None)  # a nameless database: its file ends with it
        for pragma in (f"cache_size = -{_CACHE_KIB}", "journal_mode = off", "synchronous = off"):
            self._store.execute(f"pragma {pragma}")
        self._store.execute(
            "create table events (partition int, offset int, time int, order_id text, state text, body text, "
            "primary key (partition, offset)) without rowid"
        )
        self._store.execute("create index of_order on events (order_id)")

    def add(self, events: Sequence[Event], positions: Mapping[int, int]) -> None:
        """Store records, up to these positions; known ones are ignored."""
        rows = [astuple(event) for event in events]
        self._store.execute("begin")
        self.size += self._store.executemany("insert or ignore into events values (?, ?, ?, ?, ?, ?)", rows).rowcount
        self._store.execute("commit")
        self.positions.update(positions)
        self._notify(event.order_id for event in events)

    def settle(self, caught_up: bool) -> None:
        """The topic has been read to its end, or cannot be read now."""
        self.settled.set()
        if caught_up:
            self.caught_up.set()

    def of(self, order_id: str) -> tuple[Event, ...]:
        """The records of an order: each partition's in its order, those of different partitions by their times."""
        found = self._store.execute("select * from events where order_id = ? order by 1, 2", (order_id,))
        partitions = [list(rows) for _, rows in groupby((Event(*row) for row in found), lambda event: event.partition)]
        return tuple(merge(*partitions, key=lambda event: (event.time, event.partition)))

    def forget(self, positions: Mapping[int, int]) -> None:
        """Drop what is before these positions, by partition: it is stored in Delta."""
        for partition, position in positions.items():
            dropped = self._store.execute(
                "delete from events where partition = ? and offset < ?", (partition, position)
            )
            self.size -= dropped.rowcount

    def close(self) -> None:
        """Free the disk space."""
        self._store.close()


def states(events: Iterable[Event]) -> tuple[Event, ...]:
    """The states an order went through, of its records in order: its first CREATED one, then all others."""
    records: dict[tuple[int, int], Event] = {}
    for event in events:
        records.setdefault(event.place, event)
    first = created(records.values())
    return ((first,) if first else ()) + tuple(event for event in records.values() if event.state != CREATED)


def created(events: Iterable[Event]) -> Event | None:
    """The record that is the order: the first CREATED one."""
    return next((event for event in events if event.state == CREATED), None)


def decided(events: Sequence[Event]) -> bool:
    """Whether the order has come to VALIDATED, FAILED or later."""
    return bool(events) and events[-1].state != CREATED
