"""E-mails of paid orders: the models over made-up trade, against plain Python over the same records."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from chispa import assert_df_equality
from pydantic import TypeAdapter
from pyspark.sql import SparkSession

from headrace.queries.group import Group
from headrace.streaming.query import StreamedQuery
from headrace.testing.cases.case import Batch
from headrace.testing.cases.landing import land
from headrace.testing.runs.scope import narrowed
from headrace.testing.runs.trial import Models
from tests.spark import emails_oracle
from tests.spark.emails_oracle import Event

pytestmark = pytest.mark.spark

START = datetime(2026, 1, 1, 10, tzinfo=timezone.utc)
EMAILS = "order_id string, quantity int, payment_id string, email string"

Record = dict[str, Any]


def customer(number: int, email: str) -> Record:
    """A record of the topic `customers`."""
    return {"key": number, "value": {"id": number, "email": email}}


def order(order_id: str, customer_id: int, at: datetime, quantity: int = 1, state: str = "CREATED") -> Record:
    """A record of the topic `shop-orders`."""
    value = {"id": order_id, "customerId": customer_id, "state": state, "quantity": quantity, "price": 1}
    return {"key": order_id, "value": value, "timestamp": at}


def payment(payment_id: str, order_id: str, at: datetime) -> Record:
    """A record of the topic `payments`."""
    return {"key": payment_id, "value": {"id": payment_id, "orderId": order_id}, "timestamp": at}


def trade(seed: int, batches: int = 4, each: int = 80) -> list[dict[str, Any]]:
    """Landing batches of a few orders, customers and payments that meet in all ways, none of them late."""
    chance = random.Random(seed)

    def some(topic: str, number: int) -> Record:
        at = START + timedelta(seconds=chance.choice((0, 30, 59, 60, 61, 90, 120, 150)))
        if topic == "customers":
            return customer(chance.randrange(6), f"{number}@example.org")
        if topic == "payments":
            return payment(f"p{number}", f"o{chance.randrange(40)}", at)
        return order(f"o{chance.randrange(40)}", chance.randrange(8), at, number, chance.choice(("CREATED", "FAILED")))

    found: list[dict[str, Any]] = []
    for batch in range(batches):
        records: dict[str, list[Record]] = {}
        for number in range(batch * each, (batch + 1) * each):
            topic = chance.choices(("customers", "payments", "shop-orders"), (1, 5, 3))[0]
            records.setdefault(topic, []).append(some(topic, number))
        found.append(records)
    return found


def events(batches: Sequence[dict[str, Any]]) -> Iterator[Event]:
    """All records in arrival order."""
    for number, batch in enumerate(batches):
        for topic in sorted(batch):
            for place, record in enumerate(batch[topic]):
                yield Event((number, topic, place), topic, record)


def due(batches: Sequence[dict[str, Any]]) -> set[tuple[str, int, str, str]]:
    """The e-mails that must be sent, order by order."""
    return {
        (created.value["id"], created.value["quantity"], paid.value["id"], known.value["email"])
        for created, paid, known in emails_oracle.due([*events(batches)])
    }


def test_emails_are_those_of_the_oracle(models: Models, spark: SparkSession) -> None:
    batches = trade(seed=1)
    found = models.rows("gold.order_emails", batches)
    found = found.selectExpr("order_id", "ordered.quantity", "payment.id as payment_id", "customer.email")
    expected = due(batches)
    assert len(expected) > 15
    assert_df_equality(
        found, spark.createDataFrame(sorted(expected), EMAILS), ignore_nullable=True, ignore_row_order=True
    )


@pytest.mark.long
def test_join_forgets_what_can_meet_no_more(models: Models) -> None:
    sandbox, project = models.sandbox, narrowed(models.project, ["silver.payment_matches"])
    layout = sandbox.layout(project)
    group, native = (sandbox.query(project, layout, query) for query in project.queries)
    assert isinstance(group, Group) and isinstance(native, StreamedQuery)
    hours = [START + timedelta(hours=hour) for hour in range(3)]
    given = [{"payments": [payment("p", "o", at)], "shop-orders": [order(f"o{at}", 1, at)]} for at in hours]
    running = None
    for batch in land(sandbox.judge, project, TypeAdapter(tuple[Batch, ...]).validate_python(given)).batches:
        table = sandbox.landing_table(layout, batch.landing)
        rows = sandbox.spark.createDataFrame(list(batch.rows), table.schema, verifySchema=False)
        table.append(rows, {"query": "ingest_shop", "batch": batch.number, "records": len(batch.rows)})
        group.step(100)
        running = running or native.start()
        running.processAllAvailable()
    left, waits = native.state_rows, native.waits
    native.stop()
    assert (left, waits) == (2, False)  # those of the last hour; no tick could move the orders' watermark
