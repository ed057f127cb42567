"""Made-up trade of the shop."""

import json
from itertools import islice
from typing import Any

from headrace.demo import shop
from headrace.demo.records import Record


def records(count: int = 200, run: str = "r", seed: int = 1) -> list[Record]:
    return list(islice(shop.demo(run, seed), count))


def values(topic: str, found: list[Record]) -> list[dict[str, Any]]:
    return [json.loads(record.value or "") for record in found if record.topic == topic]


def test_same_seed_same_records() -> None:
    assert records() == records()


def test_other_seed_other_records() -> None:
    assert records() != records(seed=2)


def test_other_run_has_other_keys() -> None:
    keys = [{r.key for r in records(run=run) if r.topic != shop.STOCK} for run in ("r1", "r2")]
    assert not keys[0] & keys[1]


def test_customers_and_stock_come_first() -> None:
    topics = [record.topic for record in records()]
    assert topics[:8] == [shop.CUSTOMERS] * 5 + [shop.STOCK] * 3
    assert set(topics[8:]) == {shop.ORDERS, shop.PAYMENTS}


def test_orders_are_of_known_customers() -> None:
    known = {value["id"] for value in values(shop.CUSTOMERS, records())}
    assert {value["customerId"] for value in values(shop.ORDERS, records())} == known


def test_payment_is_the_price_of_its_order() -> None:
    orders = {value["id"]: value for value in values(shop.ORDERS, records())}
    payments = values(shop.PAYMENTS, records())
    due = [sum(x["quantity"] * x["price"] for x in (o.get("items") or [o])) for o in map(orders.get, _paid(payments))]
    assert [payment["amount"] for payment in payments] == [round(amount, 2) for amount in due]
    assert 0 < len(payments) < len(orders)


def _paid(payments: list[dict[str, Any]]) -> list[str]:
    return [payment["orderId"] for payment in payments]


def test_order_of_one_line_has_no_items() -> None:
    record = shop.order("a", 1, [shop.Line("JUMPERS", 2, 9.5)])
    assert (record.topic, record.key, json.loads(record.value or "")) == (
        "shop-orders",
        "a",
        {"id": "a", "customerId": 1, "state": "CREATED", "product": "JUMPERS", "quantity": 2, "price": 9.5},
    )


def test_order_of_several_lines_has_items() -> None:
    lines = [shop.Line("JUMPERS", 2, 9.5), shop.Line("STOCKINGS", 1, 3)]
    value = json.loads(shop.order("a", 1, lines).value or "")
    assert value["items"] == [
        {"product": "JUMPERS", "quantity": 2, "price": 9.5},
        {"product": "STOCKINGS", "quantity": 1, "price": 3},
    ]
    assert "quantity" not in value


def test_shipped_order_keeps_its_fields() -> None:
    record = shop.shipped({"id": "a", "customerId": 1, "state": "VALIDATED", "quantity": 1, "extra": [1]})
    assert json.loads(record.value or "") == {
        "id": "a",
        "customerId": 1,
        "state": "SHIPPED",
        "quantity": 1,
        "extra": [1],
    }
