"""Commands that send events to the source topics."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from datetime import datetime, timezone
from itertools import islice

from headrace.commands.workspace import Workspace
from headrace.demo import sales as sales_events
from headrace.demo import shipping as shipping_events
from headrace.demo.manufacturer import Pace, manufacture
from headrace.demo.records import Record, fresh_run_id
from headrace.demo.sending import send
from headrace.errors import ExitCode, UsageError
from headrace.project.model import Kafka
from headrace.reading.topics import declared, ensure


def order(workspace: Workspace, order_id: str | None, items: str | None) -> int:
    """Send one order and print its id."""
    name = order_id or f"order-{fresh_run_id()}"
    chosen = shipping_events.parse_items(items) if items else shipping_events.DEFAULT_ITEMS
    _send(workspace, [shipping_events.order(name, chosen, _now())], shipping_events.TOPICS)
    print(name)
    return ExitCode.OK


def manufactured(workspace: Workspace, order_id: str, product_id: int) -> int:
    """Send one product made for an order."""
    return _send(workspace, [shipping_events.manufactured(order_id, product_id, _now())], shipping_events.TOPICS)


def shipping(workspace: Workspace, orders: int, seed: int, run_id: str | None) -> int:
    """Send orders and all their products."""
    records = shipping_events.demo(run_id or fresh_run_id(), seed, orders, _now())
    return _send(workspace, records, shipping_events.TOPICS)


def manufacturer(workspace: Workspace, delay: float, rate: float | None, seed: int) -> int:
    """Make what is ordered, until Ctrl-C."""
    kafka = _kafka(workspace, shipping_events.TOPICS)
    for record in manufacture(kafka, Pace(delay, rate, seed)):
        print(f"made {record.key}: {record.value}", file=sys.stderr)
    return ExitCode.OK


def sales(
    workspace: Workspace, event: tuple[str, ...], rate: float | None, count: int | None, seed: int, run_id: str | None
) -> int:
    """Send one sale (`event <product> <value>`), or a stream of them."""
    if event:
        return _send(workspace, [_one_sale(event)], sales_events.TOPICS)
    stream = islice(sales_events.demo(run_id or fresh_run_id(), seed), count)
    return _send(workspace, stream, sales_events.TOPICS, rate or 5.0)


def _one_sale(words: tuple[str, ...]) -> Record:
    if len(words) != 3 or words[0] != "event":
        raise UsageError("one sale is written: headrace produce sales event <product> <value>")
    try:
        return sales_events.event(words[1], int(words[2]))
    except ValueError:
        raise UsageError(f'not a whole number: "{words[2]}"') from None


def _send(workspace: Workspace, records: Iterable[Record], topics: Iterable[str], rate: float | None = None) -> int:
    sent = send(_kafka(workspace, topics), records, rate)
    print(f"sent {sent} record{'s' if sent != 1 else ''}", file=sys.stderr)
    return ExitCode.OK


def _kafka(workspace: Workspace, topics: Iterable[str]) -> Kafka:
    project = workspace.connected()
    known = declared(project)
    ensure(project.target.kafka, {topic: known.get(topic, 1) for topic in topics})
    return project.target.kafka


def _now() -> datetime:
    return datetime.now(timezone.utc)
