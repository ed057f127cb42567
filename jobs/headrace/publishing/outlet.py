"""The outlet of a publisher: its producer, and the topic that holds its progress."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from headrace.errors import EnvironmentFault
from headrace.landing.broker_admin import BrokerAdmin
from headrace.project.kafka_options.topic_names import progress_topic
from headrace.project.model import Model, Project
from headrace.publishing.progress import Progress, Recorded, Writer
from headrace.publishing.routes import Rules
from headrace.reading.topics import client_options

TIMEOUT = 30.0
LONGEST = 90.0
"""Seconds within which the broker has ended any open transaction: it does so after 60, and checks every ten."""

NEWEST = 5_000
"""How many offsets of the progress topic are read at first; more only for a publisher that is not among them."""

_FURTHER = 8

_FENCED = (KafkaError._FENCED, KafkaError.PRODUCER_FENCED, KafkaError.INVALID_PRODUCER_EPOCH)


@dataclass(frozen=True)
class Outlet:
    """Where a publisher sends: client configuration, the topic that holds progress, and its key there.

    `rules` apply to topics that the rows themselves name. `writer` is this run, as its records name it.
    """

    config: dict[str, Any]
    progress_topic: str
    name: str
    rules: Rules = field(default_factory=Rules)
    writer: Writer = field(default_factory=lambda: Writer.here("nowhere"))

    @classmethod
    def of(cls, project: Project, model: Model, rules: Rules | None = None) -> Outlet:
        """The outlet of a model as a project's target names things."""
        target = project.target
        name = f"{project.name}.{target.identity}.{model.name}"
        writer = Writer.here(str(target.layout.root))
        return cls(client_options(target.kafka), progress_topic(target), name, rules or Rules(), writer)

    def connect(self) -> Producer:
        """A producer; transactions that other instances left open are aborted, and those are fenced off."""
        config = {**self.config, "transactional.id": self.name, "partitioner": "murmur2_random"}
        producer = Producer({**config, "enable.idempotence": True, "linger.ms": 5, "transaction.timeout.ms": 60_000})
        producer.init_transactions(TIMEOUT)
        return producer

    def require(self, topics: Collection[str], table: str) -> None:
        """EnvironmentFault if a topic that rows of a table need is gone."""
        needed = {self.progress_topic, *topics}
        if gone := sorted(needed - BrokerAdmin(self.config).describe(needed).keys()):
            raise EnvironmentFault(
                f"no topic {', '.join(gone)}, which {table} is published to: create it again, and publishing goes on "
                "where it stopped. What a deleted topic held is sent again only by `headrace reset --republish`"
            )

    def record(self, producer: Producer, progress: Progress) -> None:
        """Add the progress to the producer's transaction."""
        producer.produce(self.progress_topic, progress.to_json(self.writer), self.name, 0)

    def move(self, progress: Progress) -> None:
        """Record a progress by itself; whoever publishes now is fenced off."""
        producer = self.connect()
        producer.begin_transaction()
        self.record(producer, progress)
        producer.commit_transaction(TIMEOUT)


def is_fenced(error: KafkaException) -> bool:
    """Whether a producer may not go on: another one of its name has begun, or its transaction took too long."""
    cause: KafkaError = error.args[0]
    return cause.code() in _FENCED or cause.fatal()


@contextmanager
def client_errors() -> Iterator[None]:
    """Raise the client's own error: one that occurs in a callback is only the cause of a SystemError."""
    try:
        yield
    except SystemError as error:
        raise (error.__cause__ or error) from None


def read_progress(outlet: Outlet) -> Recorded | None:
    """The newest committed progress record of a publisher."""
    return read_all(outlet, {outlet.name}).get(outlet.name)


def read_all(outlet: Outlet, names: Collection[str], patience: float = LONGEST) -> Mapping[str, Recorded]:
    """The newest committed progress records of publishers that share the topic of an outlet.

    The topic is read from its end, as what has not been compacted yet may be long. For so many seconds of `patience` it
    waits for a transaction that is open; then EnvironmentFault.
    """
    settings = {"group.id": outlet.name, "isolation.level": "read_committed", "enable.auto.commit": False}
    settings |= {"auto.offset.reset": "earliest", "enable.partition.eof": True}
    # By default the broker holds an answer that says no more than that this is the end for half a second.
    consumer = Consumer({**outlet.config, **settings, "fetch.wait.max.ms": 10})
    try:
        newest = _newest(consumer, outlet, names, patience)
    finally:
        consumer.close()
    return {name: Recorded.from_json(text) for name, text in newest.items()}


def _newest(consumer: Consumer, outlet: Outlet, names: Collection[str], patience: float) -> Mapping[str, bytes]:
    topic, admin = outlet.progress_topic, BrokerAdmin(outlet.config)
    first, end = admin.starts({topic: [0]})[topic][0], admin.ends({topic: [0]}, committed=False)[topic][0]
    begin, length, found = end, NEWEST, dict[str, bytes]()
    while begin > first and not found.keys() >= {*names}:
        begin, length = max(first, end - length), length * _FURTHER
        consumer.assign([TopicPartition(topic, 0, begin)])
        found = _last_of(consumer, topic, names, end, patience)
    return found


def _last_of(consumer: Consumer, topic: str, names: Collection[str], end: int, patience: float) -> dict[str, bytes]:
    """Read up to the topic's end: an open transaction of another publisher hides what was committed after it began."""
    newest = dict[str, bytes]()
    while (message := consumer.poll(patience)) is not None:
        error = message.error()
        if error is None:
            name = (message.key() or b"").decode()
            if name in names:
                newest[name] = message.value() or b""
        elif error.code() != KafkaError._PARTITION_EOF:
            raise KafkaException(error)
        elif (message.offset() or 0) >= end:
            return newest
    raise EnvironmentFault(f"topic {topic} could not be read to its end: a transaction in it is still open")
