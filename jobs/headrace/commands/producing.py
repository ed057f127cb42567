"""Commands that send events to the source topics."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from datetime import datetime, timezone
from itertools import islice

from headrace.commands.workspace import Workspace
from headrace.demo import calls as call_halves
from headrace.demo import clicks as clicks_events
from headrace.demo import sales as sales_events
from headrace.demo import shipping as shipping_events
from headrace.demo import shop as shop_events
from headrace.demo.manufacturer import Pace, manufacture
from headrace.demo.newest import newest_value
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


def shop(
    workspace: Workspace, words: tuple[str, ...], rate: float | None, count: int | None, seed: int, run_id: str | None
) -> int:
    """Send the shipping of one order (`ship <id>`), or a stream of customers, stock, orders and payments."""
    if words:
        return _ship(workspace, words)
    stream = islice(shop_events.demo(run_id or fresh_run_id(), seed), count)
    return _send(workspace, stream, shop_events.TOPICS, rate or 5.0)


def _ship(workspace: Workspace, words: tuple[str, ...]) -> int:
    if len(words) != 2 or words[0] != "ship":
        raise UsageError("an order is shipped so: headrace produce shop ship <order id>")
    newest = newest_value(_kafka(workspace, shop_events.TOPICS), shop_events.ORDERS, words[1])
    if not isinstance(newest, dict):
        raise UsageError(f"no order {words[1]} on {shop_events.ORDERS}")
    return _send(workspace, [shop_events.shipped(newest)], shop_events.TOPICS)


def _one_sale(words: tuple[str, ...]) -> Record:
    if len(words) != 3 or words[0] != "event":
        raise UsageError("one sale is written: headrace produce sales event <product> <value>")
    try:
        return sales_events.event(words[1], int(words[2]))
    except ValueError:
        raise UsageError(f'not a whole number: "{words[2]}"') from None


def calls(
    workspace: Workspace, half: tuple[str, ...], rate: float | None, count: int | None, seed: int, run_id: str | None
) -> int:
    """Send one half of a call (`analytics <user1> <user2> <text>`, ...), or a stream of them."""
    if half:
        return _send(workspace, [_one_half(half)], call_halves.TOPICS)
    stream = call_halves.demo(run_id or fresh_run_id(), seed, int(_now().timestamp() * 1000))
    return _send(workspace, islice(stream, count), call_halves.TOPICS, rate or 5.0)


def _one_half(words: tuple[str, ...]) -> Record:
    match words:
        case ("analytics", user1, user2, text):
            return call_halves.analytics(user1, user2, text)
        case ("metrics", user1, user2, text):
            return call_halves.metrics(user1, user2, text)
    raise UsageError("one half is written: headrace produce calls analytics|metrics <user1> <user2> <text>")


def clicks(
    workspace: Workspace, event: tuple[str, ...], rate: float | None, count: int | None, seed: int, run_id: str | None
) -> int:
    """Send one event (`view <browser> <product>`, ...), or a stream of visits."""
    if event:
        return _send(workspace, [_one_click(event)], clicks_events.TOPICS)
    stream = islice(clicks_events.demo(run_id or fresh_run_id(), seed), count)
    return _send(workspace, stream, clicks_events.TOPICS, rate or 5.0)


def _one_click(words: tuple[str, ...]) -> Record:
    match words:
        case ("view", browser, product) if product.isdecimal():
            return clicks_events.view(browser, int(product))
        case ("verified", browser):
            return clicks_events.verified(browser)
        case ("name", product, *name) if product.isdecimal() and len(name) <= 1:
            return clicks_events.name(int(product), name[0] if name else None)
    raise UsageError(
        "one event is written: headrace produce clicks view <browser> <product>, verified <browser>, "
        "or name <product> [<name>]; a product is a number"
    )


def _send(workspace: Workspace, records: Iterable[Record], topics: Iterable[str], rate: float | None = None) -> int:
    sent = send(_kafka(workspace, topics), records, rate)
    print(f"sent {sent} record{'s' if sent != 1 else ''}", file=sys.stderr)
    return ExitCode.OK


def _kafka(workspace: Workspace, topics: Iterable[str]) -> Kafka:
    project = workspace.connected()
    kafka, known = project.target.kafka, declared(project)
    ensure(kafka, {topic: known.get(topic, 1) for topic in map(kafka.named, topics)})
    return kafka


def _now() -> datetime:
    return datetime.now(timezone.utc)
