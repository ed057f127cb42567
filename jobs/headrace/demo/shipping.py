"""Made-up orders and the products made for them."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from headrace.demo.records import Record, as_json, iso
from headrace.errors import UsageError

ORDERS = "orders"
MANUFACTURED = "manufactured"
TOPICS = (ORDERS, MANUFACTURED)


@dataclass(frozen=True)
class Item:
    """A product as an order names it."""

    id: int
    name: str


DEFAULT_ITEMS = (Item(1, "Iphone"), Item(2, "Samsung"))
CATALOGUE = (*DEFAULT_ITEMS, Item(3, "Pixel"), Item(4, "Fairphone"), Item(5, "Nokia"), Item(6, "Xperia"))


def parse_items(text: str) -> tuple[Item, ...]:
    """Read items as they are typed: `1:Iphone,2:Samsung`."""
    items = []
    for part in text.split(","):
        number, _, name = part.strip().partition(":")
        if not (number.isdecimal() and name):
            raise UsageError(f'not an item: "{part.strip()}". Items are written 1:Iphone,2:Samsung')
        items.append(Item(int(number), name))
    return tuple(items)


def order(order_id: str, items: Sequence[Item], at: datetime) -> Record:
    """An order for some products."""
    value = {"id": order_id, "orderDate": iso(at), "items": [{"id": item.id, "name": item.name} for item in items]}
    return Record(ORDERS, order_id, as_json(value))


def manufactured(order_id: str, product_id: int, at: datetime) -> Record:
    """The event that one product of an order has been made."""
    value = {"orderId": order_id, "productId": product_id, "manufacturedDate": iso(at)}
    return Record(MANUFACTURED, order_id, as_json(value))


def demo(run_id: str, seed: int, orders: int, start: datetime, overlap: float = 3.0) -> Iterator[Record]:
    """Orders and all their products, about `overlap` orders at a time, mixed as the seed decides.

    Some products are made before their order arrives; in the end every order can be shipped.
    """
    chance = random.Random(f"shipping {seed}")
    timeline: list[tuple[float, Record]] = []
    for number in range(orders):
        order_id, items = f"order-{run_id}-{number + 1}", chance.sample(CATALOGUE, chance.randint(1, 4))
        positions = [number + chance.uniform(0, overlap) for _ in range(len(items) + 1)]
        times = [start + timedelta(milliseconds=10 * position) for position in positions]
        timeline.append((positions[0], order(order_id, items, times[0])))
        made = zip(positions[1:], times[1:], items, strict=True)
        timeline += [(position, manufactured(order_id, item.id, at)) for position, at, item in made]
    yield from (record for _, record in sorted(timeline, key=lambda entry: entry[0]))
