"""The e-mails that paid orders must bring, in plain Python; it shares no code with the product."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any


@dataclass(frozen=True)
class Event:
    """A record and when it arrived."""

    arrival: tuple[Any, ...]
    topic: str
    record: dict[str, Any]

    @property
    def value(self) -> Any:
        return self.record["value"]


def due(arrived: Sequence[Event], gap: int = 60) -> list[tuple[Event, Event, Event]]:
    """Order, payment and customer of each e-mail; the records come in arrival order."""
    found = ((order, payment, _customer(order, payment, arrived)) for order, payment in paid(arrived, gap))
    return [(order, payment, customer) for order, payment, customer in found if customer]


def paid(arrived: Sequence[Event], gap: int = 60) -> list[tuple[Event, Event]]:
    """Each order that is paid in time, and the first such payment to arrive."""
    apart, found = timedelta(seconds=gap), list[tuple[Event, Event]]()
    payments = [event for event in arrived if event.topic == "payments"]
    for name, order in first_orders(arrived).items():
        of_it = (payment for payment in payments if payment.value["orderId"] == name)
        near = (each for each in of_it if abs(each.record["timestamp"] - order.record["timestamp"]) <= apart)
        found += [(order, first) for first in [next(near, None)] if first]
    return found


def first_orders(arrived: Sequence[Event]) -> dict[str, Event]:
    """The first CREATED record of each order id."""
    orders: dict[str, Event] = {}
    for event in arrived:
        if event.topic == "shop-orders" and event.value["state"] == "CREATED":
            orders.setdefault(event.value["id"], event)
    return orders


def versions_of(arrived: Sequence[Event], customer: int) -> list[Event]:
    """All that was said of a customer."""
    return [event for event in arrived if event.topic == "customers" and event.value["id"] == customer]


def _customer(order: Event, payment: Event, arrived: Sequence[Event]) -> Event | None:
    """The customer as known when both were there, else the first news of it."""
    both = max(order.arrival, payment.arrival)
    versions = versions_of(arrived, order.value["customerId"])
    known = [event for event in versions if event.arrival < both]
    return known[-1] if known else next(iter(versions), None)
