"""Orders and the products made for them, as the benchmarks send them."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from confluent_kafka import Producer

Message = tuple[str, str, str]
"""Topic, key and value."""


@dataclass(frozen=True)
class Sent:
    """An order and when its last contributing record was sent, in seconds since the epoch."""

    order_id: str
    at: float


def messages(order_id: str) -> tuple[Message, Message, Message]:
    """One order of two items, and both items made."""
    items = [{"id": 1, "name": "Iphone"}, {"id": 2, "name": "Samsung"}]
    made = [("manufactured", order_id, json.dumps({"orderId": order_id, "productId": n})) for n in (1, 2)]
    return ("orders", order_id, json.dumps({"id": order_id, "items": items})), made[0], made[1]


def backlog(orders: int, duplicates: float = 0.01, seed: int = 7) -> list[Message]:
    """All records of so many orders, some twice, in random order."""
    chance = random.Random(seed)
    found = [message for number in range(orders) for message in messages(f"b{number:07d}")]
    found += chance.sample(found, int(len(found) * duplicates))
    chance.shuffle(found)
    return found


@contextmanager
def sender(bootstrap: str) -> Iterator[Callable[[Iterable[Message]], None]]:
    """A function that sends records at once."""
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 0, "partitioner": "murmur2_random"})

    def send(found: Iterable[Message]) -> None:
        for topic, key, value in found:
            producer.produce(topic, key=key or None, value=value)
        producer.poll(0)

    yield send
    producer.flush(30)


def send_all(bootstrap: str, found: list[Message]) -> None:
    """Send records as fast as the broker takes them."""
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 20, "partitioner": "murmur2_random"})
    for topic, key, value in found:
        while True:
            try:
                producer.produce(topic, key=key, value=value)
                break
            except BufferError:
                producer.poll(0.1)
    producer.flush(60)


def paced(bootstrap: str, seconds: float, per_second: float = 1.0) -> Iterator[Sent]:
    """Send orders evenly for `seconds`, all three records of one at once."""
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 0, "partitioner": "murmur2_random"})
    started = time.time()
    for number in range(int(seconds * per_second)):
        time.sleep(max(0.0, started + number / per_second - time.time()))
        order_id = f"p{number:06d}-{int(started)}"
        for topic, key, value in messages(order_id):
            producer.produce(topic, key=key, value=value)
        producer.flush(10)
        yield Sent(order_id, time.time())
