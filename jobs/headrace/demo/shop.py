"""Made-up trade of the shop: customers, stock, orders and their payments."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from headrace.demo.records import Record, as_json

ORDERS = "shop-orders"
PAYMENTS = "payments"
CUSTOMERS = "customers"
STOCK = "warehouse-inventory"
TOPICS = (ORDERS, PAYMENTS, CUSTOMERS, STOCK)

LEVELS = ("bronze", "silver", "gold", "platinum")
NAMES = (("Ada", "King"), ("Grace", "Hopper"), ("Alan", "Kay"), ("Barbara", "Liskov"), ("Edsger", "Dijkstra"))
PRICES = {"JUMPERS": 45.5, "UNDERPANTS": 9.9, "STOCKINGS": 12.25}

_DELIVERED = 500
"""Pieces of each product that a run has to sell; a sold-out product is restocked by the next run."""

_PAID = 0.8
"""The share of orders that are paid at once."""

_UNKNOWN = 0.05
"""The share of orders for a product that the shop does not have."""


@dataclass(frozen=True)
class Line:
    """A quantity of a product at a price each."""

    product: str
    quantity: int
    price: float


def customer(number: int, name: tuple[str, str], level: str) -> Record:
    """A customer; no mail is ever sent to the address."""
    first, last = name
    value = {"id": number, "firstName": first, "lastName": last, "level": level}
    value |= {"email": f"{first}.{last}.{number}@example.org".lower(), "address": f"{number % 100 + 1} High Street"}
    return Record(CUSTOMERS, str(number), as_json(value))


def delivery(product: str, pieces: int) -> Record:
    """Pieces that arrive in the warehouse."""
    return Record(STOCK, product, str(pieces))


def order(order_id: str, customer_id: int, lines: Sequence[Line]) -> Record:
    """An order as it is created; several lines become its items."""
    value: dict[str, Any] = {"id": order_id, "customerId": customer_id, "state": "CREATED"}
    items = [{"product": line.product, "quantity": line.quantity, "price": line.price} for line in lines]
    value |= items[0] if len(items) == 1 else {"items": items}
    return Record(ORDERS, order_id, as_json(value))


def payment(payment_id: str, order_id: str, amount: float) -> Record:
    """A payment of an order."""
    value = {"id": payment_id, "orderId": order_id, "ccy": "EUR", "amount": round(amount, 2)}
    return Record(PAYMENTS, payment_id, as_json(value))


def shipped(value: dict[str, Any]) -> Record:
    """An order that has been shipped: the order with its new state."""
    return Record(ORDERS, str(value["id"]), as_json({**value, "state": "SHIPPED"}))


def demo(run_id: str, seed: int) -> Iterator[Record]:
    """A run's own customers, some stock, then endless orders, most of them followed by their payment."""
    chance = random.Random(f"shop {seed}")
    first = 1 + random.Random(run_id).randrange(10**9) * 10  # customers have numbers: these are the run's own
    customers = range(first, first + len(NAMES))
    yield from (customer(n, name, chance.choice(LEVELS)) for n, name in zip(customers, NAMES, strict=True))
    yield from (delivery(product, _DELIVERED) for product in PRICES)
    number = 0
    while True:
        number += 1
        order_id, lines = f"order-{run_id}-{number}", _lines(chance)
        yield order(order_id, chance.choice(customers), lines)
        if chance.random() < _PAID:
            yield payment(f"payment-{run_id}-{number}", order_id, sum(line.quantity * line.price for line in lines))


def _lines(chance: random.Random) -> list[Line]:
    if chance.random() < _UNKNOWN:
        return [Line("SOMBREROS", 1, 30.0)]
    products = chance.sample(sorted(PRICES), chance.choice((1, 1, 1, 2)))
    return [Line(product, chance.randint(1, 5), PRICES[product]) for product in products]
