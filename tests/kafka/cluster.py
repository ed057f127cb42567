"""A Kafka cluster as the tests' producers, readers and administrators see it."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewPartitions, NewTopic
from tenacity import Retrying, retry_if_exception_type, stop_after_delay

from tests.kafka.oracle import Acked
from tests.waiting import PATIENCE, wait_for

Event = tuple[str, str | bytes | None, str | bytes | None]
"""Topic, key and value of a record to send."""

_LONGEST_TRANSACTION = 90.0
"""Seconds: the broker aborts after 60, and looks every ten."""


@dataclass(frozen=True)
class Sent:
    """A committed record as a reader finds it."""

    partition: int
    offset: int
    key: str | None
    value: Any


class Sender:
    """A producer that remembers what the broker has acknowledged, even over an outage."""

    def __init__(self, bootstrap: str, acked: Iterable[Acked] = ()) -> None:
        settings = {"bootstrap.servers": bootstrap, "enable.idempotence": True, "log_level": 0, "linger.ms": 2}
        self.acked: list[Acked] = [*acked]
        self._refused: list[KafkaError] = []
        self._producer = Producer({**settings, "message.timeout.ms": 300_000, "reconnect.backoff.max.ms": 500})

    def send(self, events: Iterable[Event], timestamp: int = 0) -> None:
        """Produce records; their acknowledgement comes later."""
        for topic, key, value in events:
            self._producer.produce(topic, value, key, on_delivery=self._on_delivery, timestamp=timestamp)
            self._producer.poll(0)

    def flush(self) -> None:
        """Wait for every acknowledgement."""
        left = self._producer.flush(PATIENCE)
        assert (left, self._refused) == (0, [])

    def partitions(self, topic: str) -> int:
        """How many partitions of a topic the producer knows, after asking the broker."""
        return len(self._producer.list_topics(topic, timeout=PATIENCE).topics[topic].partitions)

    def _on_delivery(self, error: KafkaError | None, message: Message) -> None:
        if error:
            self._refused.append(error)
            return
        place = (message.topic() or "", message.partition() or 0, message.offset() or 0)
        self.acked.append(Acked(*place, message.key(), message.value(), message.timestamp()[1]))


@dataclass
class Cluster:
    """The cluster at an address; what is sent through it and acknowledged is recorded."""

    bootstrap: str
    sender: Sender = field(init=False)
    admin: AdminClient = field(init=False)

    def __post_init__(self) -> None:
        self.sender = Sender(self.bootstrap)
        self.admin = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})

    @property
    def acked(self) -> list[Acked]:
        return self.sender.acked

    def create(self, partitions: Mapping[str, int], config: Mapping[str, str] | None = None) -> None:
        """Create topics, and wait until the sender knows of them."""
        wanted = [NewTopic(name, count, config=dict(config or {})) for name, count in partitions.items()]
        for made in self.admin.create_topics(wanted).values():
            made.result(PATIENCE)
        for name, count in partitions.items():
            self._wait_for_partitions(name, count)

    def widen(self, topic: str, partitions: int) -> None:
        """Give a topic more partitions, and wait until the sender knows of them."""
        self.admin.create_partitions([NewPartitions(topic, partitions)])[topic].result(PATIENCE)
        self._wait_for_partitions(topic, partitions)

    def _wait_for_partitions(self, topic: str, count: int) -> None:
        wait_for(lambda: self.sender.partitions(topic) == count, f"{count} partitions of {topic}")

    def delete(self, topic: str) -> None:
        """Delete a topic and wait until the broker has forgotten it."""
        self.admin.delete_topics([topic])[topic].result(PATIENCE)
        wait_for(lambda: topic not in self.admin.list_topics(timeout=PATIENCE).topics, f"the end of {topic}")
        self.sender = Sender(self.bootstrap, self.acked)  # the former would go on counting where the old topic ended

    def send(self, events: Iterable[Event], timestamp: int = 0) -> None:
        """Send records and wait until all are acknowledged."""
        self.sender.send(events, timestamp)
        self.sender.flush()

    @contextmanager
    def sending(self, events: Iterator[Event], every: float = 0.2) -> Iterator[None]:
        """Send three events `every` so many seconds while the block lasts; at its end all of them are acknowledged."""
        over = threading.Event()

        def send() -> None:
            while not over.wait(every):
                self.sender.send(islice(events, 3))

        thread = threading.Thread(target=send)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()
            self.sender.flush()

    def committed(self, topic: str) -> list[Sent]:
        """Every committed record of a topic, each partition in its order.

        Transactions that are open now are waited for: the broker answers a commit before its readers may see it.
        A reader that hears nothing for longer than any transaction takes is replaced: one that was made while the
        broker came back has been silent for ten minutes. So is one that does not know a partition of the topic yet.
        """
        again = Retrying(
            retry=retry_if_exception_type((Silence, KafkaException)), stop=stop_after_delay(PATIENCE), reraise=True
        )
        return again(lambda: list(_read(self.bootstrap, topic)))


class Silence(Exception):
    """Nothing arrives from a topic that is not yet read to its end."""


def _read(bootstrap: str, topic: str) -> Iterator[Sent]:
    settings = {"bootstrap.servers": bootstrap, "group.id": "reader", "enable.auto.commit": False, "log_level": 0}
    bounds = _bounds(settings, topic)
    unread = {number: end for number, (_, end) in bounds.items()}
    consumer = Consumer({**settings, "isolation.level": "read_committed", "enable.partition.eof": True})
    try:
        consumer.assign([TopicPartition(topic, number, first) for number, (first, _) in bounds.items()])
        while unread:
            message = consumer.poll(_LONGEST_TRANSACTION)
            if message is None:
                raise Silence(f"{topic} cannot be read")
            error, place = message.error(), (message.partition() or 0, message.offset() or 0)
            if error:
                assert error.code() == KafkaError._PARTITION_EOF, error
                if place[1] >= unread.get(place[0], 0):
                    unread.pop(place[0], None)
            else:
                key, value = message.key(), message.value()
                text = None if key is None else key.decode()
                yield Sent(*place, text, None if value is None else json.loads(value))
    finally:
        consumer.close()


def _bounds(settings: Mapping[str, Any], topic: str) -> dict[int, tuple[int, int]]:
    """Where each partition begins and ends now, including undecided transactions."""
    consumer = Consumer({**settings, "isolation.level": "read_uncommitted"})
    try:
        found = consumer.list_topics(topic, timeout=PATIENCE).topics[topic].partitions
        places = {number: TopicPartition(topic, number) for number in found}
        return {number: consumer.get_watermark_offsets(place, timeout=PATIENCE) for number, place in places.items()}
    finally:
        consumer.close()
