"""The shop of a run on a broker, compared with plain Python: all tables, and the topics."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

from tests.kafka.arrivals import Arrival, arrivals, check_landed, moment
from tests.kafka.oracle import Acked
from tests.kafka.outcome import Results
from tests.spark import emails_oracle
from tests.spark import shop_oracle as oracle
from tests.spark.emails_oracle import Event

ORDERS = "shop-orders"
TABLES = {
    ORDERS: "bronze.shop_orders",
    "payments": "bronze.payments",
    "customers": "bronze.customers",
    "warehouse-inventory": "bronze.stock_deliveries",
    "validation-rules": "bronze.validation_rules",
    "order-validations-external": "bronze.external_validations",
}
RULES = {rule: True for rule in (oracle.DETAILS, oracle.FRAUD, oracle.INVENTORY)}
LEVELS = ("bronze", "silver", "gold", "platinum")
FREQUENT, WINDOW_MS = 2, 30_000


def check(results: Results, acked: Iterable[Acked]) -> None:
    """Every row is there once, in its table and at its topic, and is the right one."""
    records = [*acked]
    check_landed(results, records, TABLES)
    arrived = arrivals(results, TABLES.values())
    _check_decisions(results, records, _decided(results, arrived))
    trade = _Trade([_event(each) for each in arrived])
    _check_orders(results, trade)
    _check_customers(results, trade)
    _check_emails(results, trade)


def _decided(results: Results, arrived: Iterable[Arrival]) -> oracle.Shop:
    """What plain Python decides, landing batch by landing batch, ticks too."""
    batches: dict[int, list[oracle.Record]] = defaultdict(list)
    for each in arrived:
        if each.topic in oracle.TOPICS:
            batches[each.place[0]].append(oracle.Record(each.topic, each.key or "", each.body, each.timestamp))
    found = oracle.Shop(dict(RULES))
    for row in results.rows("bronze.shop_clock"):
        found.land(moment(row["landed_at"]), batches[row["landing_batch"]])
    return found


def _check_decisions(results: Results, acked: Iterable[Acked], due: oracle.Shop) -> None:
    checks = [((row["order_id"], row["check_type"]), (row["result"], row["reason"])) for row in _checks(results)]
    assert (len(dict(checks)), dict(checks)) == (len(checks), due.checks)
    outcomes = [(row["order_id"], (row["state"], row["reason"])) for row in results.rows("gold.order_outcomes")]
    assert (len(dict(outcomes)), dict(outcomes)) == (len(outcomes), due.outcomes)
    values = (record.value for record in results.committed("order-validations"))
    told = [((v["orderId"], v["checkType"]), (v["validationResult"], v["reason"])) for v in values]
    assert sorted(told) == sorted(checks)
    ours = {(each.partition, each.offset) for each in acked if each.topic == ORDERS}
    sent = [each for each in results.committed(ORDERS) if (each.partition, each.offset) not in ours]
    assert sorted((e.key or "", (e.value["state"], e.value["reason"])) for e in sent) == sorted(outcomes)
    stock = {row["product"]: [row["stock"], row["reserved"], row["sold"]] for row in results.rows("silver.stock")}
    assert stock == due.stock
    held = {row["order_id"] for row in results.rows("silver.reservations")}
    assert held == {order.id for order in due.orders.values() if order.reserved and order.end is None}
    waiting = {row["order_id"] for row in results.rows("silver.pending_orders")}
    assert waiting == {each.id for each in due.waiting} | (due.orders.keys() - due.outcomes.keys())
    assert {state for state, _ in due.outcomes.values()} == {"VALIDATED", "FAILED"}


def _checks(results: Results) -> list[dict[str, Any]]:
    return results.rows("gold.order_checks")


class _Trade:
    """All records in arrival order, and what the shop's customers see of them."""

    def __init__(self, events: Sequence[Event]) -> None:
        self.events = events

    def of(self, topic: str) -> list[Event]:
        return [event for event in self.events if event.topic == topic]

    @cached_property
    def created(self) -> dict[str, Event]:
        return emails_oracle.first_orders(self.events)

    def customer(self, order: Event) -> dict[str, Any] | None:
        """The customer of an order, as known when it arrived."""
        versions = emails_oracle.versions_of(self.events, order.value["customerId"])
        return max((e for e in versions if e.arrival < order.arrival), key=lambda e: e.arrival, default=_NOBODY).value

    @property
    def levels(self) -> list[tuple[str, str]]:
        """Topic and id of each enriched order."""
        return [((self.customer(order) or {}).get("level", "bronze"), name) for name, order in self.created.items()]

    @property
    def platinum(self) -> list[str]:
        orders = (order for order in self.of(ORDERS) if order.value["state"] == "VALIDATED")
        return [o.value["id"] for o in orders if (self.customer(o) or {}).get("level") == "platinum"]

    @property
    def frequent(self) -> list[tuple[str, int, int]]:
        """Customer, window and count of each order beyond the usual number."""
        counts, found = Counter[tuple[str, int]](), []
        for order in sorted(self.created.values(), key=lambda order: order.arrival):
            at = round(order.record["timestamp"].timestamp() * 1000)
            window = str(order.value["customerId"]), at - at % WINDOW_MS
            counts[window] += 1
            if counts[window] > FREQUENT:
                found.append((*window, counts[window]))
        return found

    @property
    def grid(self) -> dict[str, tuple[str, str | None, str | None]]:
        """State, level and payment of each order as they are now."""
        levels = {event.value["id"]: event.value["level"] for event in self.of("customers")}
        payments: dict[str, str] = {}
        for event in self.of("payments"):
            payments.setdefault(event.value["orderId"], event.value["id"])
        newest = {event.value["id"]: event.value for event in self.of(ORDERS)}
        return {
            name: (value["state"], levels.get(value["customerId"]), payments.get(name))
            for name, value in newest.items()
        }


_NOBODY = Event((), "customers", {"value": None})


def _check_orders(results: Results, trade: _Trade) -> None:
    created = [row["order_id"] for row in results.rows("silver.created_orders")]
    assert (len(created), {*created}) == (len(trade.created), trade.created.keys())
    again = [e.value["id"] for e in trade.of(ORDERS) if e.value["state"] == "CREATED"]
    assert Counter(row["order_id"] for row in results.rows("silver.repeated_orders")) == Counter(again) - Counter(
        created
    )
    newest = {event.value["id"]: event.value["state"] for event in trade.of(ORDERS)}
    assert {row["order_id"]: row["state"] for row in results.rows("silver.orders_by_id")} == newest
    grid = {row["order_id"]: (row["state"], row["level"], row["payment_id"]) for row in results.rows("gold.order_grid")}
    assert grid == trade.grid


def _check_customers(results: Results, trade: _Trade) -> None:
    enriched = [(row["level_topic"], row["order_id"]) for row in results.rows("gold.enriched_orders")]
    sent = [(level, record.key) for level in LEVELS for record in results.committed(level)]
    assert Counter(enriched) == Counter(sent) == Counter(trade.levels)
    rows = results.rows("gold.frequent_buyers")
    frequent = [(str(row["customer_id"]), row["window_start_ms"], row["order_count"]) for row in rows]
    told = [(r.key or "", r.value["windowStart"], r.value["count"]) for r in results.committed("frequent-buyers")]
    assert sorted(frequent) == sorted(told) == sorted(trade.frequent)
    platinum = [row["order_id"] for row in results.rows("gold.platinum_emails")]
    letters = [record.key for record in results.committed("platinum-emails")]
    assert Counter(platinum) == Counter(letters) == Counter(set(trade.platinum))


def _check_emails(results: Results, trade: _Trade) -> None:
    due = [
        (order.value["id"], payment.value["id"], customer.value["level"])
        for order, payment, customer in emails_oracle.due(trade.events)
    ]
    rows = results.rows("gold.order_emails")
    found = [(row["order_id"], row["payment"]["id"], row["customer"]["level"]) for row in rows]
    values = (record.value for record in results.committed("order-emails"))
    sent = [(value["order"]["id"], value["payment"]["id"], value["customer"]["level"]) for value in values]
    assert due and sorted(found) == sorted(sent) == sorted(due)
    waiting = {row["order_id"] for row in results.rows("silver.pending_emails")}
    assert waiting == {order.value["id"] for order, _ in emails_oracle.paid(trade.events)} - {name for name, *_ in due}


def _event(arrived: Arrival) -> Event:
    return Event(arrived.place, arrived.topic, {"value": arrived.body, "timestamp": arrived.timestamp})
