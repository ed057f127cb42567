"""The way into the orders' topic: a record is in when the broker says so."""

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
"""How long a broker that is connected may take to say that it is there."""

TRY_SECONDS = 0.5
"""How long one that is not connected may take."""

ACK_SECONDS = 5.0
"""How long it may take to acknowledge a record."""


class Unreachable(Exception):
    """The broker does not answer, or did not acknowledge."""


class Door:
    """An idempotent producer to one topic, for use from an event loop."""

    def __init__(self, kafka: Kafka, topic: str) -> None:
        self._kafka = kafka
        self._topic = topic
        self._lost = threading.Event()
        self._producer, self._connected_at = self._connected(), time.monotonic()
        self._former: list[tuple[float, Producer]] = []
        self._replacing = threading.Lock()
        self._knocking: asyncio.Task[None] | None = None
        self._closed = threading.Event()
        self._asker = ThreadPoolExecutor(1, "health")
        self._peekers = ThreadPoolExecutor(4, "peek")
        self._listener = threading.Thread(target=self._listen, name="acknowledgements", daemon=True)
        self._listener.start()

    async def knock(self) -> None:
        """Make sure that the broker is there; those who ask at the same time share the answer."""
        if self._knocking is None or self._knocking.done():
            self._knocking = asyncio.create_task(self._knock())
        await asyncio.shield(self._knocking)

    async def put(self, key: str, value: str) -> tuple[int, int]:
        """Send a record and wait for its acknowledgement; its partition and offset."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[tuple[int, int]] = loop.create_future()
        producer = self._producer

        def told(error: KafkaError | None, message: Message) -> None:
            if error is not None and error.fatal():
                self._replace(producer)
            loop.call_soon_threadsafe(self._settle, answer, error, message)

        try:
            producer.produce(self._topic, value.encode(), key.encode(), on_delivery=told)
        except (BufferError, KafkaException) as error:
            raise Unreachable(f"Kafka at {self._kafka.bootstrap} did not take the order: {error}") from None
        return await answer

    async def peek(self, partition: int, start: int, end: int) -> Sequence[Event]:
        """Records of a part of the topic as they stand there, those of open transactions too."""
        place = TopicPartition(self._topic, partition, start)
        return await asyncio.get_running_loop().run_in_executor(self._peekers, _peek, self._kafka, place, end)

    def close(self) -> None:
        """Hear the last acknowledgements."""
        self._closed.set()
        self._listener.join(ACK_SECONDS)
        self._producer.flush(TRY_SECONDS)
        for pool in (self._asker, self._peekers):
            pool.shutdown(wait=False, cancel_futures=True)

    async def _knock(self) -> None:
        await asyncio.get_running_loop().run_in_executor(self._asker, self._ask)

    def _ask(self) -> None:
        """Ask the broker for anything; one that is only slow is asked again for a while."""
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
                    said = f"Kafka at {self._kafka.bootstrap} does not answer: {error.args[0].str()}"
                    raise Unreachable(said) from None

    def _troubled(self, error: KafkaError) -> None:
        if error.code() in (KafkaError._ALL_BROKERS_DOWN, KafkaError._TRANSPORT):
            self._lost.set()

    def _settle(self, answer: asyncio.Future[tuple[int, int]], error: KafkaError | None, message: Message) -> None:
        if answer.done():  # whoever asked is gone
            return
        if error is None:
            answer.set_result((message.partition() or 0, message.offset() or 0))
        else:
            said = f"Kafka at {self._kafka.bootstrap} did not acknowledge the order: {error.str()}"
            answer.set_exception(Unreachable(said))

    def _replace(self, producer: Producer) -> None:
        """Go on with another producer, once; of what this one still has it is to tell."""
        with self._replacing:
            if producer is self._producer:
                self._former.append((time.monotonic(), producer))
                self._producer, self._connected_at = self._connected(), time.monotonic()

    def _listen(self) -> None:
        while not self._closed.is_set():
            self._producer.poll(0.2)
            for former in [*self._former]:
                since, producer = former
                producer.poll(0)
                if time.monotonic() > since + 2 * ACK_SECONDS:  # what it had is acknowledged or has timed out
                    self._former.remove(former)

    def _connected(self) -> Producer:
        ours: dict[str, Any] = {
            "enable.idempotence": True,  # with it, acks=all
            "linger.ms": 0,
            "message.timeout.ms": int(ACK_SECONDS * 1000),
            "partitioner": "murmur2_random",  # as Java's clients do
            "reconnect.backoff.max.ms": 500,
            "error_cb": self._troubled,
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
