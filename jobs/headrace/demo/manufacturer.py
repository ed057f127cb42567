"""The manufacturer of the shipping demo: follows the orders and makes each ordered product after a while."""

from __future__ import annotations

import heapq
import json
import random
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timezone

from confluent_kafka import Consumer, KafkaException

from headrace.demo.records import Record
from headrace.demo.sending import Sender
from headrace.demo.shipping import ORDERS, manufactured
from headrace.project.model import Kafka
from headrace.reading.topics import IDLE_CHECK_SECONDS, can_reach, client_options

GROUP = "headrace-manufacturer"
"""The consumer group that remembers which orders have been made."""

_POLL_SECONDS = 0.1


@dataclass(frozen=True)
class Pace:
    """How the manufacturer works: seconds that a product takes, products a second at most, seed of the waits."""

    delay: float = 2.0
    rate: float | None = None
    seed: int = 0


@dataclass(frozen=True, order=True)
class Job:
    """A product to be made for an order at a time of the monotonic clock."""

    due: float
    order_id: str
    product_id: int


def jobs(value: str | bytes | None, now: float, pace: Pace) -> list[Job]:
    """What an order asks for, each product due after half to one and a half times the delay.

    The wait of a product depends only on seed, order and product. What is no order asks for nothing.
    """
    try:
        order = json.loads(value or "")
        order_id, products = str(order["id"]), [int(item["id"]) for item in order["items"]]
    except (ValueError, KeyError, TypeError):
        return []
    waits = (random.Random(f"{pace.seed} {order_id} {product}").uniform(0.5, 1.5) for product in products)
    return [Job(now + pace.delay * wait, order_id, product) for product, wait in zip(products, waits, strict=True)]


def manufacture(
    kafka: Kafka, pace: Pace, group: str = GROUP, stopped: Callable[[], bool] = lambda: False
) -> Iterator[Record]:
    """Make what the committed orders ask for and yield each product as it is sent, until `stopped` returns true.

    A restart resumes after the last order at which nothing was left to make; a product made twice does no harm.
    """
    with Sender(kafka) as sender:
        while not stopped():
            consumer = _connected(kafka, group)
            try:
                yield from _work(consumer, kafka.named(ORDERS), sender, pace, stopped)
            finally:
                consumer.close()  # its partitions go to another at once


def _connected(kafka: Kafka, group: str) -> Consumer:
    consumer = Consumer(
        {
            **client_options(kafka),
            "group.id": group,
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
        }
    )
    consumer.subscribe([kafka.named(ORDERS)])
    return consumer


def _work(consumer: Consumer, orders: str, sender: Sender, pace: Pace, stopped: Callable[[], bool]) -> Iterator[Record]:
    """Make what is ordered until stopped or disconnected: orders that are not committed are read again."""
    waiting: list[Job] = []
    free = last_received = time.monotonic()  # when the next product may be made
    uncommitted = False
    while not stopped():
        message = consumer.poll(_POLL_SECONDS)
        now = time.monotonic()
        if message is not None:
            last_received = now
        elif now > last_received + IDLE_CHECK_SECONDS:
            if not can_reach(consumer, orders):
                return
            last_received = now
        if message is not None and message.error() is None:
            uncommitted = True
            for job in jobs(message.value(), now, pace):
                heapq.heappush(waiting, job)
        while waiting and max(waiting[0].due, free) <= now:
            job = heapq.heappop(waiting)
            free = now if pace.rate is None else max(free, now - 1) + 1 / pace.rate
            record = manufactured(job.order_id, job.product_id, datetime.now(timezone.utc))
            sender.send(record)
            yield record
        if uncommitted and not waiting:
            sender.flush()
            with suppress(KafkaException):  # partitions just went to another manufacturer: it makes them again
                consumer.commit(asynchronous=False)
            uncommitted = False
