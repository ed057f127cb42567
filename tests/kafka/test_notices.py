"""The shop from Kafka to Kafka: notices of orders to customers and others, sent once, also when it is run again."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.kafka.cluster import Event
from tests.kafka.stage import Stage

pytestmark = pytest.mark.kafka

AT = 1_767_261_600_000
"""The first millisecond of a window of frequent buyers."""


def record(topic: str, key: str, **value: Any) -> Event:
    return topic, key, json.dumps(value)


def order(order_id: str, customer_id: int, state: str = "CREATED") -> Event:
    fields = {"id": order_id, "customerId": customer_id, "state": state}
    return record("shop-orders", order_id, **fields, product="JUMPERS", quantity=1, price=2.5)


def published(stage: Stage, topic: str) -> list[tuple[str | None, Any]]:
    return sorted((sent.key, sent.value) for sent in stage.committed(topic))


@pytest.mark.long
def test_notices_reach_their_topics_once(stage: Stage) -> None:
    stage.create({"customers": 1, "payments": 1, "shop-orders": 2})
    stage.send([record("customers", "1", id=1, email="ada@example.org", level="PLATINUM")])
    stage.send([record("customers", "2", id=2, level="shop-orders"), record("customers", "3", id=3, level="a b")], AT)
    stage.send([order("a", 1), order("b", 1), order("c", 1), order("d", 2), order("e", 3), order("f", 4)], AT)
    stage.send([order("a", 1, "VALIDATED"), record("payments", "p", id="p", orderId="a", ccy="EUR", amount=2.5)], AT)
    assert stage.failures("shop") == ()
    assert stage.failures("shop") == ()  # nothing is left to do
    customer = {"id": 1, "firstName": None, "lastName": None, "email": "ada@example.org", "address": None}
    created = {"id": "a", "customerId": 1, "product": "JUMPERS", "quantity": 1, "price": 2.5, "items": None}
    paid = {"id": "p", "orderId": "a", "ccy": "EUR", "amount": 2.5}
    email = {"order": {**created, "state": "CREATED"}, "payment": paid, "customer": {**customer, "level": "PLATINUM"}}
    assert published(stage, "order-emails") == [("a", email)]
    assert [key for key, _ in published(stage, "platinum-emails")] == ["a"]
    assert [key for key, _ in published(stage, "platinum")] == ["a", "b", "c"]
    assert published(stage, "bronze") == [("f", {"id": "f", "customerId": 4, "customerLevel": "bronze"})]
    assert published(stage, "frequent-buyers") == [("1", {"customerId": 1, "windowStart": AT, "count": 3})]
    notes = (stage.data_dir / "set_aside" / "enriched_orders.ndjson").read_text().splitlines()
    assert [(note["key"], note["reason"]) for note in map(json.loads, notes)] == [
        ("d", "reserved_topic"),
        ("e", "bad_topic_name"),
    ]
    (row,) = stage.shown("gold.order_grid", "--key", "a")
    assert (row["state"], row["email"], row["payment_id"]) == ("VALIDATED", "ada@example.org", "p")
