"""The systems of the checkout as a test lets them run: topics, made-up records without end, and what must come out."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count, islice
from typing import Any, Protocol

from headrace.demo import calls, clicks, shop
from headrace.demo.records import Record
from tests.kafka import calls_outcome, clicks_outcome, oracle, outcome, shop_outcome
from tests.kafka.arrivals import is_all_landed
from tests.kafka.cluster import Event
from tests.kafka.events import load, sale
from tests.kafka.oracle import MANUFACTURED, ORDERS, SALES, Acked
from tests.kafka.outcome import Results

VARS: Mapping[str, Any] = {
    "call_gap": calls_outcome.GAP,
    "call_grace": calls_outcome.GRACE,
    "popular_views": clicks_outcome.POPULAR,
}
"""What a target must say, so that all that is looked at comes up within a test of minutes."""

UNKNOWN = 99
"""A customer of whom nothing is ever said."""


@dataclass(frozen=True)
class System:
    """Domains that are looked at together."""

    name: str
    select: tuple[str, ...]
    topics: Mapping[str, int]
    load: Callable[[int], Iterator[Event]]
    """Records without end, by a seed."""
    check: Callable[[Results, Iterable[Acked]], None]
    closing: Callable[[], Iterable[tuple[Event, int]]] = lambda: ()
    """Records that leave all windows behind, with their times."""
    tables: Mapping[str, str] = field(default_factory=dict)
    """Topics to which rows are published, so that they land in these bronze tables too."""

    @property
    def words(self) -> tuple[str, ...]:
        return tuple(word for domain in self.select for word in ("--select", domain))

    def is_settled(self, results: Results) -> bool:
        """Whether all that was published to a topic that is read has landed."""
        return is_all_landed(results, self.tables)


class Sends(Protocol):
    """Where records are sent."""

    def send(self, events: Iterable[Event], timestamp: int = 0) -> None:
        """Send records and wait until all are acknowledged."""


def alternated(systems: Iterable[System], seed: int) -> Iterator[Event]:
    """Records of all of them in turn, without end."""
    loads = [system.load(seed) for system in systems]
    while True:
        yield from (next(load) for load in loads)


def close(system: System, cluster: Sends) -> None:
    """Let event time pass all that was sent."""
    for event, at in system.closing():
        cluster.send([event], timestamp=at)


def _soon() -> int:
    return int(time.time() * 1000) + 3 * oracle.MINUTE_MS


def _check_shipping_and_sales(results: Results, acked: Iterable[Acked]) -> None:
    assert outcome.found(results) == outcome.expected(record for record in acked if record.topic in _SHIPPING_AND_SALES)


_SHIPPING_AND_SALES = {ORDERS: 2, MANUFACTURED: 1, SALES: 2}


def _halves(seed: int) -> Iterator[Event]:
    """Calls between users of their own, so that some are over while others begin."""
    begin = int(time.time() * 1000)
    for number in count():
        yield from map(_event, islice(calls.demo(f"{seed}-{number}", seed + number, begin + 16_000 * number), 20))


def _last_half() -> Iterator[tuple[Event, int]]:
    at = int(time.time() * 1000) + 3_600_000
    yield _event(calls.analytics(calls_outcome.CLOSING, calls_outcome.CLOSING, None, at)), 0


def _lines(seed: int) -> Iterator[Event]:
    return map(_event, clicks.demo(str(seed), seed))


def _last_line() -> Iterator[tuple[Event, int]]:
    yield _event(clicks.view(clicks_outcome.CLOSING, 1)), _soon()


def _trade(seed: int) -> Iterator[Event]:
    """The made-up trade with little stock, and all else that may come to the topics of a shop."""
    chance, orders = random.Random(seed), list[dict[str, Any]]()
    for record in shop.demo(str(seed), seed):
        if record.topic == shop.STOCK:
            record = shop.delivery(str(record.key), 15)
        if record.topic == shop.ORDERS:
            orders.append(json.loads(record.value or ""))
        yield _event(record)
        if orders and chance.random() < 0.5:
            yield _event(_more(chance, orders))


def _more(chance: random.Random, orders: list[dict[str, Any]]) -> Record:
    """Something that is no new order of a customer who is known."""
    one = chance.choice(orders[-20:])
    name, customer, product = one["id"], one["customerId"], chance.choice([*shop.PRICES])
    match chance.randrange(9):
        case 0 | 1:
            return shop.delivery(product, chance.choice((1, 5, 12)))
        case 2:
            return shop.shipped(one)
        case 3:
            return Record(shop.ORDERS, name, json.dumps({**one, "state": "FAILED"}))
        case 4:
            return shop.order(name, customer, [shop.Line(product, 1, 9.5)])
        case 5:
            strange = shop.order(f"{name}-{chance.randrange(10**6)}", UNKNOWN, [shop.Line(product, 1, 9.5)])
            orders.append(json.loads(strange.value or ""))
            return strange
        case 6:
            return shop.payment(f"again-{name}", name, 1.0)
        case 7:
            return shop.customer(customer, chance.choice(shop.NAMES), chance.choice(shop.LEVELS))
        case _:
            return _of_others(chance, name)


def _of_others(chance: random.Random, order: str) -> Record:
    """A verdict that the shop does not compute, or a change of who must give one."""
    rule, result = "CREDIT_CHECK", chance.choice(("PASS", "PASS", "FAIL", "ERROR"))
    verdict = {"orderId": order, "checkType": rule, "validationResult": result, "reason": "as others say"}
    declared = json.dumps({"name": rule, "mandatory": chance.random() < 0.5})
    if chance.random() < 0.7:
        return Record("order-validations-external", order, json.dumps(verdict))
    return Record("validation-rules", rule, chance.choice((None, declared, declared)))


def _event(record: Record) -> Event:
    return record.topic, record.key, record.value


SHIPPING_AND_SALES = System(
    "shipping and sales",
    ("shipping", "sales"),
    _SHIPPING_AND_SALES,
    load,
    _check_shipping_and_sales,
    lambda: [(sale("closing", 1), _soon())],
)
CALLS = System("calls", ("calls",), {"analyticsTopic": 2, "metricsTopic": 1}, _halves, calls_outcome.check, _last_half)
CLICKS = System("clicks", ("clicks",), {"logs": 2, "products": 1}, _lines, clicks_outcome.check, _last_line)
SHOP = System(
    "shop",
    ("shop",),
    {"shop-orders": 2, **dict.fromkeys([*shop_outcome.TABLES][1:], 1)},
    _trade,
    shop_outcome.check,
    tables=shop_outcome.TABLES,
)
ALL = (SHIPPING_AND_SALES, CALLS, CLICKS, SHOP)
