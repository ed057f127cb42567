"""Producing to the orders' topic: a record counts once the broker has acknowledged it."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

from headrace.project.model import Kafka
from headrace.reading.topics import client_options
from headrace.serving.events import Event
from headrace.serving.feed import event_of

REACH_SECONDS = 3.0
"""How long a connected broker may take to answer."""

TRY_SECONDS = 0.5
"""How long a disconnected broker may take to answer."""

ACK_SECONDS = 5.0
"""How long a broker may take to acknowledge a record."""


class Unreachable(Exception):
    """The broker does not answer, or did not acknowledge."""


class OrderProducer:
    """An idempotent producer to one topic, for use from an event loop."""

    def __init__(self, kafka: Kafka, topic: str) -> None:
        self._kafka = kafka
        self._topic = topic
        self._lost = threading.Event()
        self._producer, self._connected_at = self._connected(), time.monotonic()
        self._former: list[tuple[float, Producer]] = []
        self._replacing = threading.Lock()
        self._checking: asyncio.Task[None] | None = None
        self._closed = threading.Event()
        self._checker = ThreadPoolExecutor(1, "health")
        self._readers = ThreadPoolExecutor(4, "peek")
        self._poller = threading.Thread(target=self._poll_acknowledgements, name="acknowledgements", daemon=True)
        self._poller.start()

    async def check_broker(self) -> None:
        """Make sure that the broker answers; concurrent callers share the result."""
        if self._checking is None or self._checking.done():
            self._checking = asyncio.create_task(self._check())
        await asyncio.shield(self._checking)

    async def produce(self, key: str, value: str) -> tuple[int, int]:
        """Send a record and wait for its acknowledgement; its partition and offset."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[tuple[int, int]] = loop.create_future()
        producer = self._producer

        def on_delivery(error: KafkaError | None, message: Message) -> None:
            if error is not None and error.fatal():
                self._replace(producer)
            loop.call_soon_threadsafe(self._settle, answer, error, message)

        try:
            producer.produce(self._topic, value.encode(), key.encode(), on_delivery=on_delivery)
        except (BufferError, KafkaException) as error:
            raise Unreachable(f"Kafka at {self._kafka.bootstrap} did not take the order: {error}") from None
        return await answer

    async def peek(self, partition: int, start: int, end: int) -> Sequence[Event]:
        """Records of a part of the topic, including those of open transactions."""
        place = TopicPartition(self._topic, partition, start)
        return await asyncio.get_running_loop().run_in_executor(self._readers, _peek, self._kafka, place, end)

    def close(self) -> None:
        """Wait for the last acknowledgements."""
        self._closed.set()
        self._poller.join(ACK_SECONDS)
        self._producer.flush(TRY_SECONDS)
        for pool in (self._checker, self._readers):
            pool.shutdown(wait=False, cancel_futures=True)

    async def _check(self) -> None:
        await asyncio.get_running_loop().run_in_executor(self._checker, self._ask)

    def _ask(self) -> None:
        """Send the broker a request; a slow one is retried for a while."""
        deadline, producer = time.monotonic() + REACH_SECONDS, self._producer
        while True:
            try:
                producer.list_topics(timeout=TRY_SECONDS)
                self._lost.clear()
                return
            except KafkaException as error:
                if self._lost.is_set() or time.monotonic() > deadline:
                    if time.monotonic() > self._connected_at + ACK_SECONDS:
                        self._replace(producer)  # it may never find a broker again (see `seen_by`)
                    reason = f"Kafka at {self._kafka.bootstrap} does not answer: {error.args[0].str()}"
                    raise Unreachable(reason) from None

    def _on_error(self, error: KafkaError) -> None:
        if error.code() in (KafkaError._ALL_BROKERS_DOWN, KafkaError._TRANSPORT):
            self._lost.set()

    def _settle(self, answer: asyncio.Future[tuple[int, int]], error: KafkaError | None, message: Message) -> None:
        if answer.done():  # the caller is gone
            return
        if error is None:
            answer.set_result((message.partition() or 0, message.offset() or 0))
        else:
            reason = f"Kafka at {self._kafka.bootstrap} did not acknowledge the order: {error.str()}"
            answer.set_exception(Unreachable(reason))

    def _replace(self, producer: Producer) -> None:
        """Continue with another producer, once; this one is still polled for its outstanding deliveries."""
        with self._replacing:
            if producer is self._producer:
                self._former.append((time.monotonic(), producer))
                self._producer, self._connected_at = self._connected(), time.monotonic()

    def _poll_acknowledgements(self) -> None:
        while not self._closed.is_set():
            self._producer.poll(0.2)
            for former in [*self._former]:
                since, producer = former
                producer.poll(0)
                if time.monotonic() > since + 2 * ACK_SECONDS:  # its records are acknowledged or have timed out
                    self._former.remove(former)

    def _connected(self) -> Producer:
        ours: dict[str, Any] = {
            "enable.idempotence": True,  # with it, acks=all
            "linger.ms": 0,
            "message.timeout.ms": int(ACK_SECONDS * 1000),
            "partitioner": "murmur2_random",  # as Java's clients do
            "reconnect.backoff.max.ms": 500,
            "error_cb": self._on_error,
        }
        return Producer({**client_options(self._kafka), **ours})


def _peek(kafka: Kafka, place: TopicPartition, end: int) -> list[Event]:
    settings = {"group.id": "headrace-serve", "enable.auto.commit": False, "isolation.level": "read_uncommitted"}
    consumer = Consumer({**client_options(kafka), **settings, "auto.offset.reset": "earliest"})
    found: list[Event] = []
    try:
        consumer.assign([place])
        while (message := consumer.poll(REACH_SECONDS)) is not None and message.error() is None:
            if (message.offset() or 0) < end and (event := event_of(message)) is not None:
                found.append(event)
            if (message.offset() or 0) >= end - 1:
                break
    finally:
        consumer.close()
    return found
