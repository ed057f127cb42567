"""Orders of the shop, their checks and outcomes: the models against plain Python on a random stream."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from random import Random
from typing import Any

import pytest

from headrace.spark import small_batches
from headrace.spark.driver import checkpoint
from headrace.testing.cases.case import Cut
from headrace.testing.runs.trial import Models
from tests.long import long
from tests.spark.shop_oracle import PRODUCTS, Record, Shop

pytestmark = pytest.mark.spark

START = datetime(2026, 1, 1, 10, tzinfo=timezone.utc)
RULES = ("ORDER_DETAILS_CHECK", "FRAUD_CHECK", "INVENTORY_CHECK")
TABLES = ("gold.order_outcomes", "gold.order_checks", "silver.stock", "silver.customer_sessions")


class Stream:
    """Landing batches of a shop where much goes wrong."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.created: list[str] = []
        self.products = [*PRODUCTS, "SOCKS", "HATS", "GLOVES"]

    def batches(self, count: int) -> list[tuple[datetime, list[Record]]]:
        now, found = START, []
        for number in range(count):
            now += timedelta(seconds=self.random.choice((1, 5, 10, 29, 30, 31, 61)))
            wanted = 0 if number and self.random.random() < 0.15 else self.random.randrange(1, 12)
            found.append((now, [self._record(now) for _ in range(wanted)]))
        return found

    def _record(self, now: datetime) -> Record:
        kind = self.random.choices(("order", "again", "end", "stock", "rule", "verdict"), (12, 1, 4, 3, 1, 4))[0]
        if kind in ("again", "end", "verdict") and not self.created:
            kind = "order"
        return getattr(self, f"_{kind}")(now)

    def _order(self, now: datetime) -> Record:
        order = f"o{len(self.created) + 1}"
        self.created.append(order)
        lines = [self._line() for _ in range(self.random.choice((1, 1, 1, 2, 3)))]
        value = {"id": order, "customerId": self.random.randrange(3), "state": "CREATED"}
        value |= lines[0] if len(lines) == 1 and self.random.random() < 0.8 else {"items": lines}
        return Record("shop-orders", order, value, self._moment(now))

    def _line(self) -> dict[str, Any]:
        quantity = self.random.choices((-1, 0, 1, 2, 5, 8), (1, 1, 8, 5, 3, 1))[0]
        price = self.random.choices((-1, 9.5, 100, 250, 999.99), (1, 6, 6, 4, 1))[0]
        return {"product": self.random.choice(self.products[:5]), "quantity": quantity, "price": price}

    def _moment(self, now: datetime) -> datetime:
        hours = self.random.choices((0, 0.5, 1, 2, 12, 23.5, 24, 25, 30), (9, 3, 3, 3, 1, 1, 1, 1, 1))[0]
        return now - timedelta(hours=hours, seconds=self.random.choice((0, 0, 1)))

    def _again(self, now: datetime) -> Record:
        order = self.random.choice(self.created)
        value = {"id": order, "customerId": 1, "state": "CREATED", "product": "SOCKS", "quantity": 1, "price": 1}
        return Record("shop-orders", order, value, now)

    def _end(self, now: datetime) -> Record:
        order, state = (
            self.random.choice(self.created),
            self.random.choice(("FAILED", "FAILED", "SHIPPED", "VALIDATED")),
        )
        return Record("shop-orders", order, {"id": order, "customerId": 1, "state": state, "items": []}, now)

    def _stock(self, now: datetime) -> Record:
        return Record("warehouse-inventory", self.random.choice(self.products), self.random.choice((-2, 0, 3, 9)), now)

    def _rule(self, now: datetime) -> Record:
        name = self.random.choice((*RULES, "CREDIT_CHECK", "CREDIT_CHECK"))
        if self.random.random() < 0.3:
            return Record("validation-rules", name, None, now)
        return Record("validation-rules", name, {"name": name, "mandatory": self.random.random() < 0.7}, now)

    def _verdict(self, now: datetime) -> Record:
        order = self.random.choice([*self.created, f"o{len(self.created) + 1}", f"o{len(self.created) + 2}"])
        result = self.random.choices(("PASS", "FAIL", "ERROR", "MAYBE"), (6, 1, 1, 1))[0]
        value = {"orderId": order, "checkType": "CREDIT_CHECK", "validationResult": result, "reason": "told"}
        return Record("order-validations-external", order, value, now)


def case_batches(batches: list[tuple[datetime, list[Record]]]) -> list[dict[str, Any]]:
    """The batches as written in a case."""
    cases = []
    for landed_at, records in batches:
        case: dict[str, Any] = {"at": landed_at}
        for record in records:
            sent = {"key": record.key, "value": record.value, "timestamp": record.timestamp}
            case.setdefault(record.topic, []).append(sent)
        cases.append(case)
    return cases


@pytest.mark.parametrize(("seed", "cut"), [long(1, "all-at-once"), long(2, "one-by-one"), (3, "restarts")])
def test_shop_decides_as_plain_python_does(models: Models, seed: int, cut: Cut) -> None:
    decides_as_plain_python(models, seed, cut, batches=12 if cut == "one-by-one" else 80)


@pytest.mark.long
def test_large_batches_are_decided_alike(models: Models, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(small_batches, "SMALL_BATCH_ROWS", 0)
    monkeypatch.setattr(checkpoint, "SMALL_BATCH_ROWS", 0)
    decides_as_plain_python(models, 4, "one-by-one", batches=3)


def decides_as_plain_python(models: Models, seed: int, cut: Cut, batches: int) -> None:
    """Process a random stream and compare the decisions."""
    stream_batches = Stream(seed).batches(batches)
    shop = Shop({rule: True for rule in RULES})
    for landed_at, records in stream_batches:
        shop.land(landed_at, records)
    found = models.tables(TABLES, case_batches(stream_batches), cut, seeds=True)
    checks = {(r.order_id, r.check_type): (r.result, r.reason) for r in found["gold.order_checks"].collect()}
    assert checks == shop.checks
    late = {r.order_id for r in found["gold.order_checks"].where("is_late").collect()}
    assert late == shop.late
    outcomes = {r.order_id: (r.state, r.reason) for r in found["gold.order_outcomes"].collect()}
    assert outcomes == shop.outcomes
    stock = {r["product"]: [r.stock, r.reserved, r.sold] for r in found["silver.stock"].collect()}
    assert stock == shop.stock
