"""The shop's decisions, in plain Python: one record after another, as they landed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

GAP, KEPT, LIMIT = timedelta(hours=1), timedelta(hours=24), Decimal(2000)
STOCK_DEADLINE, TIMEOUT = timedelta(seconds=30), timedelta(seconds=60)
PRODUCTS = ("JUMPERS", "UNDERPANTS", "STOCKINGS")
DETAILS, FRAUD, INVENTORY = "ORDER_DETAILS_CHECK", "FRAUD_CHECK", "INVENTORY_CHECK"
TOPICS = ("order-validations-external", "shop-orders", "validation-rules", "warehouse-inventory")


@dataclass(frozen=True)
class Record:
    """A record as it landed."""

    topic: str
    key: str
    value: Any
    timestamp: datetime


@dataclass
class Order:
    """An order and what is known of it."""

    id: str
    lines: Sequence[Mapping[str, Any]]
    landed_at: datetime
    rules: frozenset[str]
    verdicts: dict[str, tuple[str, str | None, datetime]]
    reserved: bool = False
    end: str | None = None

    @property
    def pieces(self) -> dict[str, int]:
        wanted: dict[str, int] = {}
        for line in self.lines:
            wanted[line["product"]] = wanted.get(line["product"], 0) + line["quantity"]
        return wanted


@dataclass
class Shop:
    """The shop's tables."""

    rules: dict[str, bool]
    orders: dict[str, Order] = field(default_factory=dict)
    early: dict[tuple[str, str], tuple[str, str | None, datetime]] = field(default_factory=dict)
    stock: dict[str, list[int]] = field(default_factory=dict)
    sessions: dict[int, list[list[Any]]] = field(default_factory=dict)
    newest: dict[int, datetime] = field(default_factory=dict)
    waiting: list[Order] = field(default_factory=list)
    checks: dict[tuple[str, str], tuple[str, str | None]] = field(default_factory=dict)
    late: set[str] = field(default_factory=set)
    outcomes: dict[str, tuple[str, str | None]] = field(default_factory=dict)

    def land(self, landed_at: datetime, records: Iterable[Record]) -> None:
        """One landing batch."""
        for record in sorted(records, key=lambda record: TOPICS.index(record.topic)):
            self._take(record, landed_at)
        for order in [order for order in self.waiting if landed_at > order.landed_at + STOCK_DEADLINE]:
            self.waiting.remove(order)
            self._verdict(order, INVENTORY, "no_stock", order.landed_at + STOCK_DEADLINE)
            self._decide(order)
        for order in self.orders.values():
            if order.id not in self.outcomes and landed_at > order.landed_at + TIMEOUT:
                self.outcomes[order.id] = ("FAILED", "timeout")

    def _take(self, record: Record, now: datetime) -> None:
        value = record.value
        match record.topic:
            case "shop-orders" if value["state"] == "CREATED":
                if record.key not in self.orders:
                    self._create(record, now)
            case "shop-orders":
                self._end(record.key, value["state"])
            case "warehouse-inventory":
                self.stock.setdefault(record.key, [0, 0, 0])[0] += value
                self._serve(now)
            case "validation-rules" if value is None:
                self.rules.pop(record.key, None)
            case "validation-rules":
                self.rules[value["name"]] = value["mandatory"]
            case _:
                self._hear(value, now)

    def _create(self, record: Record, now: datetime) -> None:
        value = record.value
        lines = value.get("items") or [{name: value.get(name) for name in ("product", "quantity", "price")}]
        rules = frozenset(name for name, mandatory in self.rules.items() if mandatory)
        heard = {rule: verdict for (key, rule), verdict in self.early.items() if key == record.key}
        order = self.orders[record.key] = Order(record.key, lines, now, rules, heard)
        self._verdict(order, DETAILS, _fault(lines), now)
        self._verdict(order, FRAUD, self._fraud(order.id, value["customerId"], record.timestamp, lines), now)
        if any(line["quantity"] < 0 for line in lines):
            self._verdict(order, INVENTORY, "negative_quantity", now)
        elif all(product in self.stock for product in order.pieces):
            self._reserve(order, now)
        else:
            self.waiting.append(order)
        self._decide(order)

    def _fraud(self, key: str, customer: int, at: datetime, lines: Iterable[Mapping[str, Any]]) -> str | None:
        amount = sum((line["quantity"] * Decimal(str(line["price"])) for line in lines), Decimal(0))
        newest = self.newest.get(customer)
        if newest is not None and at < newest - KEPT:
            self.late.add(key)
            return None if amount < LIMIT else "limit_reached"
        self.newest[customer] = newest = max(at, newest or at)
        sessions = self.sessions.setdefault(customer, [])
        joined = [session for session in sessions if session[0] - GAP <= at <= session[1] + GAP]
        total = amount + sum(session[2] for session in joined)
        one = [min([at, *(s[0] for s in joined)]), max([at, *(s[1] for s in joined)]), total]
        remaining = [s for s in sessions if s not in joined and s[1] >= newest - KEPT]
        self.sessions[customer] = [*remaining, one]
        return None if total < LIMIT else "limit_reached"

    def _serve(self, now: datetime) -> None:
        for order in list(self.waiting):
            if now <= order.landed_at + STOCK_DEADLINE and all(product in self.stock for product in order.pieces):
                self.waiting.remove(order)
                self._reserve(order, now)
                self._decide(order)

    def _reserve(self, order: Order, now: datetime) -> None:
        fits = all(
            self.stock[product][0] - self.stock[product][1] - self.stock[product][2] >= pieces
            for product, pieces in order.pieces.items()
        )
        self._verdict(order, INVENTORY, None if fits else "out_of_stock", now)
        if fits:
            for product, pieces in order.pieces.items():
                self.stock[product][1] += pieces
            order.reserved = True
            if order.end:
                self._release(order, order.end)

    def _end(self, key: str, state: str) -> None:
        order = self.orders.get(key)
        if order and order.end is None and state in ("FAILED", "SHIPPED"):
            order.end = state
            if order.reserved:
                self._release(order, state)

    def _release(self, order: Order, state: str) -> None:
        for product, pieces in order.pieces.items():
            self.stock[product][1] -= pieces
            self.stock[product][2] += pieces if state == "SHIPPED" else 0

    def _hear(self, value: Mapping[str, Any], now: datetime) -> None:
        at = (value["orderId"], value["checkType"])
        if at in self.early:
            return
        self.early[at] = verdict = (value["validationResult"], value.get("reason"), now)
        if order := self.orders.get(value["orderId"]):
            order.verdicts.setdefault(value["checkType"], verdict)
            self._decide(order)

    def _verdict(self, order: Order, check: str, fault: str | None, at: datetime) -> None:
        result = "PASS" if fault is None else "FAIL"
        self.checks[order.id, check] = (result, fault)
        order.verdicts.setdefault(check, (result, fault, at))

    def _decide(self, order: Order) -> None:
        if order.id in self.outcomes:
            return
        timely = {c: v for c, v in order.verdicts.items() if c in order.rules and v[2] <= order.landed_at + TIMEOUT}
        failed = [(check, reason) for check, (result, reason, _) in timely.items() if result in ("FAIL", "ERROR")]
        if failed:
            reasons = sorted(f"{check}: {reason}" if reason else check for check, reason in failed)
            self.outcomes[order.id] = ("FAILED", ", ".join(reasons))
        elif len(timely) == len(order.rules) and all(result == "PASS" for result, _, _ in timely.values()):
            self.outcomes[order.id] = ("VALIDATED", None)


def _fault(lines: Sequence[Mapping[str, Any]]) -> str | None:
    if sum(line["quantity"] for line in lines) < 0:
        return "negative_quantity"
    if sum(Decimal(str(line["price"])) for line in lines) < 0:
        return "negative_price"
    return None if all(line["product"] in PRODUCTS for line in lines) else "unknown_product"
