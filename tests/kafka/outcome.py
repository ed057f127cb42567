"""All results of shipping and sales: as found in tables and topics, and as expected."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from tests.kafka import oracle
from tests.kafka.cluster import Sent
from tests.kafka.oracle import Acked

Notifications = Mapping[str, list[tuple[int | None, bool]]]


class Results(Protocol):
    """Where results are found, wherever the tables are."""

    def committed(self, topic: str) -> list[Sent]:
        """Every committed record of a topic."""

    def rows(self, table: str) -> list[dict[str, Any]]:
        """All rows of a table."""


@dataclass(frozen=True)
class Outcome:
    """Rows of every table and published topic; lists where each row must be there once, so nothing hides in a set."""

    shipped: list[str]
    shipping_topic: list[tuple[str | None, Any]]
    open_orders: list[tuple[str, frozenset[int], frozenset[int]]]
    notifications: Notifications
    notifications_topic: Notifications
    totals: list[tuple[str, int]]
    per_minute: list[tuple[str, int, int, int]]
    dead_letters: list[tuple[str, int, int, str]]


def expected(acked: Iterable[Acked], clock: int = 0) -> Outcome:
    """The results of plain Python over the acknowledged records, when ticks have moved event time to `clock`."""
    records = list(acked)
    shipping, sales = oracle.shipping(records), oracle.sales(records)
    assert shipping.shipped == shipping.possible, "the outcome hangs on which topic lands first: choose other records"
    return Outcome(
        sorted(shipping.shipped),
        [(order, {"orderId": order}) for order in sorted(shipping.shipped)],
        sorted((order, ordered, made) for order, (ordered, made) in shipping.waiting.items()),
        sales.notifications,
        {key: [(None if gone else total, gone) for total, gone in rows] for key, rows in sales.notifications.items()},
        sorted(sales.totals.items()),
        sorted((*key, *row) for key, row in oracle.sales_per_minute(records, clock).items()),
        oracle.dead_letters(records),
    )


def found(stage: Results) -> Outcome:
    """The contents of tables and topics."""
    sent = sorted(((record.key, record.value) for record in stage.committed("shipping")), key=str)
    minutes = (
        (row["product"], _millis(row["window_start"]), row["sales_count"], row["total"])
        for row in stage.rows("gold.sales_per_minute")
    )
    rejected = stage.rows("bronze.dead_letters")
    return Outcome(
        sorted(row["order_id"] for row in stage.rows("gold.shipment_ready")),
        sent,
        sorted((row["order_id"], _ids(row["ordered"]), _ids(row["made"])) for row in stage.rows("silver.open_orders")),
        _by_product(
            (row["product"], row["total"], row["is_retraction"]) for row in stage.rows("gold.sales_notifications")
        ),
        _by_product(_notification(record) for record in stage.committed("notifications-events-v1")),
        sorted((row["product"], row["total"]) for row in stage.rows("silver.sales_totals")),
        sorted(minutes),
        sorted((row["topic"], row["partition"], row["offset"], row["reject_reason"]) for row in rejected),
    )


def _notification(record: Sent) -> tuple[str, int | None, bool]:
    """A record of the topic: null is a retraction, which keeps its total to itself."""
    return str(record.key), record.value and record.value["value"], record.value is None


def _by_product(rows: Iterable[tuple[str, int | None, bool]]) -> Notifications:
    """Totals and retractions of each product, in their order."""
    found: dict[str, list[tuple[int | None, bool]]] = {}
    for product, total, is_retraction in rows:
        found.setdefault(product, []).append((total, is_retraction))
    return found


def _ids(items: Iterable[Mapping[str, Any]]) -> frozenset[int]:
    return frozenset(item["id"] for item in items)


def _millis(text: str) -> int:
    return round(datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp() * 1000)
