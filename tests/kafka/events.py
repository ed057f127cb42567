"""Events for shipping and sales: a seeded load without end, and one bad record of every kind."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

from tests.kafka.cluster import Event
from tests.kafka.oracle import MANUFACTURED, ORDERS, SALES

NEVER_MADE = 99
PRODUCTS = range(1, 6)

BAD: tuple[tuple[str, Event], ...] = (
    ("null_key", (SALES, None, '{"value": 5000}')),
    ("null_value", (ORDERS, "bad", None)),
    ("not_json", (ORDERS, "bad", '{"id": "bad", "items": [')),
    ("not_json", (SALES, "bad", '{"value": 5000} and more')),
    ("not_json", (SALES, "bad", "[5000]")),
    ("missing_field", (MANUFACTURED, "bad", '{"orderId": "bad"}')),
    ("missing_field", (SALES, "bad", '{"value": null}')),
    ("wrong_type", (SALES, "bad", '{"value": "5000"}')),
    ("wrong_type", (SALES, "bad", '{"value": 5000.5}')),
    ("wrong_type", (SALES, "bad", '{"value": 9223372036854775808}')),
    ("duplicate_field", (SALES, "bad", '{"value": 5000, "value": 6000}')),
    ("bad_timestamp", (MANUFACTURED, "bad", '{"orderId": "bad", "productId": 1, "manufacturedDate": "yesterday"}')),
    ("time_out_of_range", (ORDERS, "bad", '{"id": "bad", "items": [{"id": 1}], "orderDate": "1999-12-31"}')),
    ("key_mismatch", (MANUFACTURED, "bad", '{"orderId": "other", "productId": 1}')),
    ("empty_order", (ORDERS, "bad", '{"id": "bad", "items": []}')),
)
"""Reject reasons and a record that is rejected for it."""


def order(order_id: str, *products: int, **more: Any) -> Event:
    """An order of these products."""
    items = [{"id": product, "name": f"Product {product}"} for product in products]
    return ORDERS, order_id, json.dumps({"id": order_id, "items": items, **more})


def made(order_id: str, product: int, **more: Any) -> Event:
    """The record that a product of an order was made."""
    return MANUFACTURED, order_id, json.dumps({"orderId": order_id, "productId": product, **more})


def sale(key: str, value: int, **more: Any) -> Event:
    """A sale of a product."""
    return SALES, key, json.dumps({"product": key, "value": value, **more})


def load(seed: int) -> Iterator[Event]:
    """Orders, products and sales in random order without end; which orders ship does not depend on what lands first."""
    chance = random.Random(seed)
    pending: list[Event] = []
    for number in range(10**9):
        pending += _order_events(chance, f"order-{number}")
        chance.shuffle(pending)
        yield _sale(chance)
        for _ in range(min(4, len(pending))):
            yield pending.pop()
        if chance.random() < 0.1:
            yield chance.choice(BAD)[1]


def _order_events(chance: random.Random, order_id: str) -> list[Event]:
    products = chance.sample(PRODUCTS, chance.randint(1, 3))
    events = [made(order_id, product) for product in products]
    events += [order(order_id, *products)] * chance.choice((1, 1, 1, 2))
    events += chance.sample(events, chance.choice((0, 0, 1)))
    events += [made(order_id, NEVER_MADE + 1)] * chance.choice((0, 0, 1))
    return events


def _sale(chance: random.Random) -> Event:
    product = f"product-{chance.randrange(6)}"
    if chance.random() < 0.05:
        return SALES, product, None
    return sale(product, chance.randrange(-500, 900))
