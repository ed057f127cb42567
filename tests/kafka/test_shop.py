"""The shop on the real broker: orders in, outcomes out on the topic where they came from."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import pytest

from headrace.running.supervisor import Failure
from tests.kafka.cluster import Event
from tests.kafka.stage import Stage

pytestmark = [pytest.mark.kafka, pytest.mark.long]

ORDERS, STOCK = "shop-orders", "warehouse-inventory"
DEADLINES = {"stock_deadline": 36_000, "order_timeout": 36_000}


def order(number: int, product: str = "JUMPERS") -> Event:
    """An order of one piece, each of another customer."""
    fields = {"id": f"o{number:02}", "customerId": number, "state": "CREATED", "product": product, "quantity": 1}
    return ORDERS, f"o{number:02}", json.dumps({**fields, "price": 9.99, "note": "as sent"})


@pytest.fixture(scope="module")
def processed(stage: Stage) -> Iterator[Stage]:
    """A stage where eleven orders wanted ten pieces, and one what was never delivered."""
    stage.create({ORDERS: 1, STOCK: 1})
    stage.send([(STOCK, "JUMPERS", "10"), *(order(number) for number in range(1, 12)), order(12, "HATS")])
    assert run(stage) == ()
    yield stage


def run(stage: Stage) -> tuple[Failure, ...]:
    """Process the shop's records; deadlines are far away, however slow the machine is."""
    project = stage.project
    return stage.failures("shop", project=replace(project, vars={**project.vars, **DEADLINES}))


def test_eleventh_order_of_ten_pieces_fails(processed: Stage) -> None:
    outcomes = [record for record in processed.committed(ORDERS) if record.value["state"] != "CREATED"]
    states = {record.key: (record.value["state"], record.value["reason"]) for record in outcomes}
    validated = {f"o{number:02}": ("VALIDATED", None) for number in range(1, 11)}
    failed = {
        "o11": ("FAILED", "INVENTORY_CHECK: out_of_stock"),
        "o12": ("FAILED", "ORDER_DETAILS_CHECK: unknown_product"),
    }
    assert (states, len(outcomes)) == ({**validated, **failed}, 12)
    assert {record.value["note"] for record in outcomes} == {"as sent"}


def test_every_verdict_is_published_once(processed: Stage) -> None:
    checks = Counter((record.key, record.value["checkType"]) for record in processed.committed("order-validations"))
    assert len(checks) == 12 * 3 - 1  # the stock of the last one is still waited for
    assert set(checks.values()) == {1}


def test_outcomes_that_come_back_are_no_orders(processed: Stage) -> None:
    assert run(processed) == ()
    assert len(processed.rows("gold.order_outcomes")) == 12
    (stock,) = processed.shown("silver.stock", "--key", "JUMPERS")
    assert (stock["stock"], stock["reserved"], stock["sold"]) == (10, 10, 0)


def test_tick_lands_while_an_order_waits(processed: Stage) -> None:
    assert [row["order_id"] for row in processed.rows("silver.pending_orders")] == ["o12"]
    before = _ticks(processed)
    assert run(processed) == ()  # nothing to read
    assert _ticks(processed) == before + 1


def _ticks(stage: Stage) -> int:
    return len(stage.shown("bronze.shop_clock", "--where", "is_tick"))
