"""Following the orders' topic: every committed record from known positions on, in each partition's order."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Message, TopicPartition

from headrace.errors import EnvironmentFault, HeadraceError
from headrace.project.model import Kafka
from headrace.reading.topics import IDLE_CHECK_SECONDS, client_options, close_in_background, ensure, existing, seen_by
from headrace.serving.events import Event, Recent
from headrace.serving.order import usable

_POLL_SECONDS = 0.5
_RETRY_SECONDS = 1.0
_AT_ONCE = 500

Log = Callable[..., None]


class Feed:
    """Follows a topic until it is cancelled; an outage of the broker only makes it wait."""

    def __init__(self, kafka: Kafka, topic: str, partitions: int, recent: Recent) -> None:
        self._kafka = kafka
        self._topic = topic
        self._wanted = {topic: partitions}
        self._recent = recent
        self._reader = ThreadPoolExecutor(1, "feed")

    async def run(self, log: Log) -> None:
        """Read records until cancelled, from the next positions; from the beginning where there is none."""
        reported = ""
        while True:
            try:
                await self._follow()
            except (HeadraceError, KafkaException) as error:
                if reported != (reported := _cause(error)):
                    log("waiting", topic=self._topic, error=reported)
                self._recent.settle(caught_up=False)
                await asyncio.sleep(_RETRY_SECONDS)

    def close(self) -> None:
        self._reader.shutdown(wait=False, cancel_futures=True)

    async def _follow(self) -> None:
        partitions = await self._in_thread(self._partitions)
        consumer = await self._in_thread(Consumer, self._options)
        loop, behind = asyncio.get_running_loop(), set(range(partitions))
        try:
            consumer.assign([self._place(partition) for partition in behind])
            looked = loop.time()
            while True:
                messages = await self._in_thread(_batch, consumer)
                behind -= self._took(messages)
                if not behind:
                    self._recent.settle(caught_up=True)
                if loop.time() > looked + IDLE_CHECK_SECONDS:
                    more = await self._in_thread(seen_by, consumer, self._topic)
                    looked = loop.time()
                    consumer.incremental_assign([self._place(new) for new in range(partitions, more)])
                    partitions = max(partitions, more)
        finally:
            close_in_background(consumer)

    def _took(self, messages: Sequence[Message]) -> set[int]:
        """Pass records on; return the partitions whose end was reached."""
        ends = {_partition(message) for message in messages if message.error() is not None}
        records = [message for message in messages if message.error() is None]
        events = [event for message in records if (event := event_of(message)) is not None]
        if records:
            self._recent.add(events, {_partition(message): _offset(message) + 1 for message in records})
        return ends

    def _place(self, partition: int) -> TopicPartition:
        return TopicPartition(self._topic, partition, self._recent.positions.get(partition, OFFSET_BEGINNING))

    def _partitions(self) -> int:
        ensure(self._kafka, self._wanted)
        return existing(self._kafka)[self._topic]

    @property
    def _options(self) -> dict[str, Any]:
        return {
            **client_options(self._kafka),
            "group.id": "headrace-serve",  # asked for by the client; nothing is committed to it
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "auto.offset.reset": "earliest",
            "enable.partition.eof": True,
            "reconnect.backoff.max.ms": 1000,
        }

    async def _in_thread(self, work: Callable[..., Any], *arguments: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._reader, work, *arguments)


def event_of(message: Message) -> Event | None:
    """A record as a state of its order; None for one that its landing rejects."""
    key, value = message.key(), message.value()
    record = usable(value.encode() if isinstance(value, str) else value) if key is not None else None
    if record is None or value is None:
        return None
    body = value if isinstance(value, str) else value.decode()
    return Event(_partition(message), _offset(message), message.timestamp()[1], record.id, record.state, body)


def _batch(consumer: Consumer) -> list[Message]:
    """The messages that have arrived, including partition ends; waits briefly for the first."""
    first = consumer.poll(_POLL_SECONDS)
    messages = [] if first is None else [first, *consumer.consume(_AT_ONCE, 0)]
    return [message for message in messages if _matters(message.error())]


def _matters(error: KafkaError | None) -> bool:
    if error is not None and (error.fatal() or error.code() > 0):
        raise EnvironmentFault(error.str())
    return error is None or error.code() == KafkaError._PARTITION_EOF  # others are temporary failures


def _cause(error: Exception) -> str:
    return error.args[0].str() if isinstance(error, KafkaException) else str(error)


def _partition(message: Message) -> int:
    return message.partition() or 0


def _offset(message: Message) -> int:
    return message.offset() or 0
