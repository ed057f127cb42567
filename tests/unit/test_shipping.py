"""Made-up orders and the products made for them."""

import json
from collections import defaultdict
from datetime import datetime, timezone

import pytest

from headrace.demo.shipping import DEFAULT_ITEMS, MANUFACTURED, ORDERS, Item, demo, manufactured, order, parse_items
from headrace.errors import UsageError

START = datetime(2026, 1, 1, 12, tzinfo=timezone.utc)


def test_order_has_the_topics_fields() -> None:
    record = order("o1", DEFAULT_ITEMS, START)
    assert (record.topic, record.key, json.loads(record.value or "")) == (
        "orders",
        "o1",
        {
            "id": "o1",
            "orderDate": "2026-01-01T12:00:00.000",
            "items": [{"id": 1, "name": "Iphone"}, {"id": 2, "name": "Samsung"}],
        },
    )


def test_manufactured_has_the_topics_fields() -> None:
    record = manufactured("o1", 2, START)
    assert (record.topic, record.key, json.loads(record.value or "")) == (
        "manufactured",
        "o1",
        {"orderId": "o1", "productId": 2, "manufacturedDate": "2026-01-01T12:00:00.000"},
    )


def test_items_are_read_as_typed() -> None:
    assert parse_items("1:Iphone, 7:A:B") == (Item(1, "Iphone"), Item(7, "A:B"))


@pytest.mark.parametrize("text", ["", "Iphone", "x:Iphone", "1:", "1:Iphone,"])
def test_mistyped_items_are_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_items(text)


def test_same_seed_same_records() -> None:
    assert list(demo("r", 1, 20, START)) == list(demo("r", 1, 20, START))


def test_other_seed_other_records() -> None:
    assert list(demo("r", 1, 20, START)) != list(demo("r", 2, 20, START))


def test_other_run_has_other_keys() -> None:
    keys = [{record.key for record in demo(run, 1, 20, START)} for run in ("r1", "r2")]
    assert not keys[0] & keys[1]


def test_every_order_gets_just_its_products() -> None:
    ordered, made = {}, defaultdict(list)
    for record in demo("r", 3, 50, START):
        value = json.loads(record.value or "")
        if record.topic == ORDERS:
            ordered[record.key] = [item["id"] for item in value["items"]]
        else:
            made[record.key].append(value["productId"])
    assert ordered.keys() == made.keys()
    assert all(sorted(made[key]) == sorted(ids) for key, ids in ordered.items())
    assert len(ordered) == 50


def test_some_products_come_before_their_order() -> None:
    topics = defaultdict(list)
    for record in demo("r", 3, 50, START):
        topics[record.key].append(record.topic)
    assert {seen[0] for seen in topics.values()} == {ORDERS, MANUFACTURED}
