"""Made-up sales of a few products."""

from __future__ import annotations

import random
from collections.abc import Iterator

from headrace.demo.records import Record, as_json

SALES = "sales-events-v1"
TOPICS = (SALES,)
PRODUCTS = ("espresso", "filter", "cocoa", "tea", "cake")

_RETURNED = 0.1
"""The share of events that give money back, so that totals also fall."""


def event(product: str, value: int) -> Record:
    """One sale of a product; a negative value is a return."""
    return Record(SALES, product, as_json({"product": product, "value": value}))


def deletion(product: str) -> Record:
    """A tombstone: the product's total is forgotten."""
    return Record(SALES, product, None)


def demo(run_id: str, seed: int) -> Iterator[Record]:
    """Endless sales of a run's own products."""
    chance = random.Random(f"sales {seed}")
    while True:
        value = chance.randrange(10, 600, 5)
        sign = -1 if chance.random() < _RETURNED else 1
        yield event(f"{chance.choice(PRODUCTS)}-{run_id}", sign * value)
