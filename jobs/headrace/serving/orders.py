"""Orders: placed through the topic, read from it and from Delta, and waited for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from typing import Any, Protocol

from headrace.errors import HeadraceError
from headrace.serving.events import Event, Recent, created, states
from headrace.serving.order import CREATED, Order, same, text_of
from headrace.serving.waiters import Waiter, Waiters

MAX_RECENT = 200_000
"""How many recent records are kept; beyond that, those that are also in Delta are dropped."""

_CATCH_UP_SECONDS = 10.0
_CONFIRM_SECONDS = 10.0
_DOUBT_SECONDS = 1.0
_PING_SECONDS = 15.0
_PRUNE_SECONDS = 60.0

Place = tuple[int, int]


class TimedOut(Exception):
    """What was waited for did not come in time."""


class Busy(Exception):
    """The service cannot answer now; asking again later helps."""


class Taken(Exception):
    """The id belongs to another order."""


class History(Protocol):
    """Stored states of orders."""

    async def of(self, order_id: str) -> tuple[Event, ...]:
        """The stored states of an order."""

    async def reopen(self) -> Mapping[int, int]:
        """Read the table's new version; the positions, by partition, up to which it contains the topic."""


class Producer(Protocol):
    """Produces records to the topic."""

    async def check_broker(self) -> None:
        """Make sure that the broker answers."""

    async def produce(self, key: str, value: str) -> Place:
        """Send a record; its place once it is acknowledged."""

    async def peek(self, partition: int, start: int, end: int) -> Sequence[Event]:
        """Records of a part of the topic, including those of open transactions."""


class Orders:
    """All orders; new records come from `recent`."""

    def __init__(self, recent: Recent, waiters: Waiters, history: History, producer: Producer) -> None:
        self._recent = recent
        self._waiters = waiters
        self._history = history
        self._producer = producer

    async def place(self, order: Order) -> Event:
        """Place an order unless it was placed before; return its record, or raise Taken if another order has the id.

        Of several requests for one id at the same time, in any process, the first in the topic wins.
        """
        text = text_of(order)
        await self._producer.check_broker()
        with self._waiters.join(order.id) as waiter:  # before anything is sent: there may be too many waiters
            await self._caught_up()
            first = created(await self.states(order.id))
            if first is None:
                first = await self._first(waiter, await self._producer.produce(order.id, text))
        if not same(first.body, text):
            raise Taken(f"order {order.id} exists and is another")
        return first

    async def states(self, order_id: str) -> tuple[Event, ...]:
        """The states that an order went through so far."""
        before = self._recent.of(order_id)  # read again below: meanwhile records may have moved to the history
        past = await self._history.of(order_id)
        return states((*past, *before, *self._recent.of(order_id)))

    async def until(
        self, order_id: str, enough: Callable[[Sequence[Event]], bool], seconds: float
    ) -> tuple[Event, ...]:
        """Wait until the states of an order are enough; TimedOut if they are not by then."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        await _within(self._recent.settled.wait(), seconds)
        if enough(found := await self.states(order_id)):
            return found
        with self._waiters.join(order_id) as waiter:
            while not enough(found := await self.states(order_id)):
                if not await self._wait_for_news(waiter, deadline - loop.time()):
                    raise TimedOut
        return found

    def waiter(self, order_id: str) -> Waiter:
        """Take a place for `follow`; the caller gives it back."""
        return self._waiters.join(order_id)

    async def follow(self, waiter: Waiter, after: Place | None) -> AsyncIterator[Event | None]:
        """Each state of an order, past and future, until the service ends; None at intervals when there is none.

        Nothing is buffered for a slow reader: what it has not seen is looked up when it asks for more.
        """
        await self._recent.settled.wait()
        places = [event.place for event in await self.states(waiter.key)]
        seen = set(places[: places.index(after) + 1]) if after in places else set()
        while True:
            for event in await self.states(waiter.key):
                if event.place not in seen:
                    seen.add(event.place)
                    yield event
            if self._waiters.closed:
                return
            if not await waiter.wait_for_news(_PING_SECONDS):
                yield None

    async def prune(self) -> None:
        """Periodically drop what is also in Delta, until cancelled."""
        while True:
            await asyncio.sleep(_PRUNE_SECONDS)
            if self._recent.size > MAX_RECENT:
                with suppress(HeadraceError):  # a store that does not answer is asked again
                    self._recent.forget(await self._history.reopen())

    async def _caught_up(self) -> None:
        if not await _within(self._recent.caught_up.wait(), _CATCH_UP_SECONDS):
            raise Busy("still reading what the topic of orders holds")

    async def _first(self, waiter: Waiter, mine: Place) -> Event:
        """The order's first record: the first one that comes, at the latest ours."""
        deadline = asyncio.get_running_loop().time() + _CONFIRM_SECONDS
        while asyncio.get_running_loop().time() < deadline:
            if (first := created(await self.states(waiter.key))) is not None:
                return first
            if not await self._wait_for_news(waiter, _DOUBT_SECONDS):
                partition, offset = mine
                hidden = await self._producer.peek(partition, self._recent.positions.get(partition, 0), offset + 1)
                rivals = [event for event in hidden if event.order_id == waiter.key and event.state == CREATED]
                if len(rivals) == 1:  # ours: an open transaction hides it, and nothing stands before it
                    return rivals[0]
        raise Busy("the order was sent, but whether it is the first of its id is not known yet: send it again")

    async def _wait_for_news(self, waiter: Waiter, seconds: float) -> bool:
        has_news = await waiter.wait_for_news(seconds)
        if self._waiters.closed:
            raise Busy("the service is ending")
        return has_news


async def _within(wait: Coroutine[Any, Any, bool], seconds: float) -> bool:
    """Whether something came in time."""
    try:
        return await asyncio.wait_for(wait, max(seconds, 0))
    except asyncio.TimeoutError:
        return False
