"""The expected results of shipping and sales, in plain Python: no Spark, and none of the tested code."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Any

ORDERS, MANUFACTURED, SALES = "orders", "manufactured", "sales-events-v1"
THRESHOLD = 2000
MINUTE_MS = 60_000
LONG = range(-(2**63), 2**63)
ISO = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:?\d\d)?)?")


@dataclass(frozen=True)
class Acked:
    """A record that the broker has acknowledged; `timestamp` is milliseconds."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    timestamp: int

    @property
    def name(self) -> str:
        return (self.key or b"").decode()

    @property
    def body(self) -> dict[str, Any]:
        return dict(json.loads(self.value or b"{}"))


@dataclass(frozen=True)
class _Source:
    fields: Mapping[str, Callable[[Any], bool]]
    required: tuple[str, ...]
    time: str | None = None
    null_value: bool = False
    rules: Mapping[str, Callable[[str, dict[str, Any]], bool]] = field(default_factory=dict)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_long(value: Any) -> bool:
    return type(value) is int and value in LONG


def _are_items(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(item, dict) and _is_long(item.get("id", 0)) and _is_text(item.get("name", "")) for item in value
    )


_SOURCES = {
    ORDERS: _Source(
        {"id": _is_text, "items": _are_items, "orderDate": _is_text},
        ("id", "items"),
        time="orderDate",
        rules={
            "key_mismatch": lambda key, body: body["id"] != key,
            "empty_order": lambda key, body: not body["items"],
        },
    ),
    MANUFACTURED: _Source(
        {"orderId": _is_text, "productId": _is_long, "manufacturedDate": _is_text},
        ("orderId", "productId"),
        time="manufacturedDate",
        rules={"key_mismatch": lambda key, body: body["orderId"] != key},
    ),
    SALES: _Source({"product": _is_text, "value": _is_long}, ("value",), null_value=True),
}


def reject_reason(record: Acked) -> str | None:
    """Why a record cannot be used, None if it can."""
    source = _SOURCES[record.topic]
    if record.key is None:
        return "null_key"
    if record.value is None:
        return None if source.null_value else "null_value"
    repeated: list[str] = []
    try:
        body = json.loads(record.value, object_pairs_hook=lambda pairs: _once(pairs, repeated), parse_constant=_refuse)
    except ValueError:
        return "not_json"
    if not isinstance(body, dict):
        return "not_json"
    return _fault(source, body, repeated) or _broken_rule(source, record, body)


def _fault(source: _Source, body: dict[str, Any], repeated: list[str]) -> str | None:
    if any(body.get(name) is None for name in source.required):
        return "missing_field"
    present = {name: body[name] for name in source.fields if body.get(name) is not None}
    if not all(source.fields[name](value) for name, value in present.items()):
        return "wrong_type"
    return "duplicate_field" if repeated else None


def _broken_rule(source: _Source, record: Acked, body: dict[str, Any]) -> str | None:
    written = body.get(source.time) if source.time else None
    if written is not None and not _can_be_read(written):
        return "bad_timestamp"
    moment = _epoch(record.timestamp) if written is None else _moment(written)
    if not datetime(2000, 1, 1, tzinfo=timezone.utc) <= moment <= datetime.now(timezone.utc) + timedelta(days=1):
        return "time_out_of_range"
    return next((rule for rule, holds in source.rules.items() if holds(record.name, body)), None)


def usable(records: Iterable[Acked], *topics: str) -> Iterator[Acked]:
    """The records of these topics that are not rejected, each partition in its order."""
    chosen = (record for record in records if record.topic in topics and reject_reason(record) is None)
    return iter(sorted(chosen, key=lambda record: (record.topic, record.partition, record.offset)))


def dead_letters(records: Iterable[Acked]) -> list[tuple[str, int, int, str]]:
    """Topic, partition, offset and reason of what is rejected, sorted."""
    found = ((r.topic, r.partition, r.offset, reason) for r in records if (reason := reject_reason(r)))
    return sorted(found)


@dataclass(frozen=True)
class Shipping:
    """The results of the events. `possible` holds more than `shipped` where that depends on which topic lands first."""

    shipped: frozenset[str]
    possible: frozenset[str]
    waiting: Mapping[str, tuple[frozenset[int], frozenset[int]]]
    """Ordered and made products of every order that has not shipped."""


def shipping(records: Iterable[Acked]) -> Shipping:
    """Decide orders by their sets of products, without an order between the two topics."""
    ordered: dict[str, list[frozenset[int]]] = defaultdict(list)
    made: dict[str, set[int]] = defaultdict(set)
    for record in usable(records, ORDERS, MANUFACTURED):
        if record.topic == ORDERS:
            ordered[record.name].append(frozenset(item["id"] for item in record.body["items"]))
        else:
            made[record.name].add(record.body["productId"])
    shipped = frozenset(order for order, sets in ordered.items() if sets[-1] <= made[order])
    possible = frozenset(order for order, sets in ordered.items() if any(products <= made[order] for products in sets))
    waiting = {
        order: (ordered[order][-1] if ordered[order] else frozenset(), frozenset(made[order]))
        for order in {*ordered, *made} - shipped
    }
    return Shipping(shipped, possible, waiting)


@dataclass(frozen=True)
class Sales:
    """Per product: its notifications (total, is_retraction) in order; and its totals at the end."""

    notifications: Mapping[str, list[tuple[int | None, bool]]]
    totals: Mapping[str, int]


def sales(records: Iterable[Acked]) -> Sales:
    """Add up each product's sales in the order of its partition, with a row for every update."""
    totals: dict[str, int] = {}
    news: dict[str, list[tuple[int | None, bool]]] = defaultdict(list)
    for record in usable(records, SALES):
        before = totals.pop(record.name, None)
        after = None if record.value is None else (before or 0) + record.body["value"]
        if after is not None:
            totals[record.name] = after
        if after is not None and after >= THRESHOLD:
            news[record.name].append((after, False))
        elif before is not None and before >= THRESHOLD:
            news[record.name].append((after, True))
    return Sales(dict(news), totals)


def sales_per_minute(records: Iterable[Acked], clock: int = 0) -> dict[tuple[str, int], tuple[int, int]]:
    """Count and sum by product and start of the minute, of the minutes that are final when nothing came late.

    Ticks may have moved event time to `clock`.
    """
    sold = [record for record in usable(records, SALES)]
    watermark = max([clock, *(record.timestamp for record in sold)]) - MINUTE_MS
    minutes: dict[tuple[str, int], tuple[int, int]] = {}
    for record in sold:
        start = record.timestamp - record.timestamp % MINUTE_MS
        if record.value is not None and start + MINUTE_MS <= watermark:
            count, total = minutes.get((record.name, start), (0, 0))
            minutes[record.name, start] = (count + 1, total + record.body["value"])
    return minutes


def _once(pairs: list[tuple[str, Any]], repeated: list[str]) -> dict[str, Any]:
    names = [name for name, _ in pairs]
    repeated.extend(name for name in set(names) if names.count(name) > 1)
    return dict(pairs)


def _refuse(word: str) -> None:
    raise ValueError(word)


def _can_be_read(text: str) -> bool:
    try:
        return bool(ISO.fullmatch(text) and _moment(text))
    except ValueError:
        return False


def _moment(text: str) -> datetime:
    moment = datetime.fromisoformat(re.sub(r"(\.\d{6})\d+", r"\1", text).replace("Z", "+00:00"))
    return moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)


def _epoch(millis: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(milliseconds=millis)
