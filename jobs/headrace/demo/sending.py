"""Sending records to Kafka and knowing that they arrived."""

from __future__ import annotations

import time
from collections.abc import Iterable
from types import TracebackType

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from headrace.demo.records import Record
from headrace.errors import EnvironmentFault
from headrace.project.model import Kafka
from headrace.reading.topics import client_options

_DELIVERY_SECONDS = 10


def send(kafka: Kafka, records: Iterable[Record], rate: float | None = None) -> int:
    """Send records, at most `rate` a second, and return how many were acknowledged: all, else EnvironmentFault."""
    with Sender(kafka) as sender:
        start = time.monotonic()
        for number, record in enumerate(records):
            if rate is not None:
                sender.wait(start + number / rate)
            sender.send(record)
    return sender.acknowledged


class Sender:
    """An idempotent producer; leaving its `with` block waits until every record is acknowledged."""

    def __init__(self, kafka: Kafka) -> None:
        self.acknowledged = 0
        self._failure: KafkaError | None = None
        self._kafka = kafka
        self._producer = Producer(
            {
                **client_options(kafka),
                "enable.idempotence": True,
                "linger.ms": 5,
                "message.timeout.ms": _DELIVERY_SECONDS * 1000,
                "partitioner": "murmur2_random",  # as Java's clients do
            }
        )

    def __enter__(self) -> Sender:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if kind is None:
            self.flush()
        else:
            self._producer.flush(_DELIVERY_SECONDS)  # the failure on its way out says more than a second one

    def flush(self) -> None:
        """Wait until all that was sent is acknowledged."""
        self._producer.flush(_DELIVERY_SECONDS + 1)
        self._check()

    def send(self, record: Record) -> None:
        """Hand one record over; waits while too many are on their way."""
        while True:
            self._check()
            try:
                topic, at = self._kafka.named(record.topic), record.timestamp_ms or 0
                self._producer.produce(topic, record.value, record.key, on_delivery=self._on_delivery, timestamp=at)
                break
            except BufferError:
                self._producer.poll(0.1)
            except KafkaException as error:
                raise self._refused(error.args[0]) from None
        self._producer.poll(0)

    def wait(self, until: float) -> None:
        """Wait until a time of the monotonic clock, and handle deliveries meanwhile."""
        while (left := until - time.monotonic()) > 0:
            self._producer.poll(left)
            self._check()

    def _on_delivery(self, error: KafkaError | None, _: Message) -> None:
        if error is None:
            self.acknowledged += 1
        else:
            self._failure = error

    def _check(self) -> None:
        if self._failure is not None:
            raise self._refused(self._failure)

    def _refused(self, error: KafkaError) -> EnvironmentFault:
        return EnvironmentFault(f"Kafka at {self._kafka.bootstrap} did not take a record: {error.str()}")
