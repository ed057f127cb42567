"""Where a publisher sends, and how far it has got by the newest of its records on the topic of progress."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from headrace.errors import EnvironmentFault
from headrace.landing.broker_admin import BrokerAdmin
from headrace.project.kafka_options.topic_names import progress_topic
from headrace.project.model import Model, Project
from headrace.publishing.progress import Progress
from headrace.publishing.routes import Rules
from headrace.reading.topics import client_options

TIMEOUT = 30.0
NEWEST = 5_000
"""So many offsets of the topic of progress are read at first, and more only for a publisher that is not among them."""

_FURTHER = 8


@dataclass(frozen=True)
class Outlet:
    """Where a publisher sends: client configuration, the topic that holds progress, and its key there.

    `rules` apply to topics that the rows themselves name.
    """

    config: dict[str, Any]
    progress_topic: str
    name: str
    rules: Rules = field(default_factory=Rules)

    @classmethod
    def of(cls, project: Project, model: Model, rules: Rules | None = None) -> Outlet:
        """The outlet of a model as a project's target names things."""
        target = project.target
        name = f"{project.name}.{target.identity}.{model.name}"
        return cls(client_options(target.kafka), progress_topic(target), name, rules or Rules())


def read_progress(outlet: Outlet) -> Progress | None:
    """The newest committed progress record of a publisher.

    The topic is read from its end, as what has not been compacted yet may be long.
    """
    settings = {"group.id": outlet.name, "isolation.level": "read_committed", "enable.auto.commit": False}
    consumer = Consumer({**outlet.config, **settings, "auto.offset.reset": "earliest", "enable.partition.eof": True})
    try:
        return _newest(consumer, outlet)
    finally:
        consumer.close()


def _newest(consumer: Consumer, outlet: Outlet) -> Progress | None:
    topic, admin = outlet.progress_topic, BrokerAdmin(outlet.config)
    first, end = admin.starts({topic: [0]})[topic][0], admin.ends({topic: [0]}, committed=False)[topic][0]
    begin, length, found = end, NEWEST, None
    while found is None and begin > first:
        begin, length = max(first, end - length), length * _FURTHER
        consumer.assign([TopicPartition(topic, 0, begin)])
        found = _last_of(consumer, outlet, end)
    return found


def _last_of(consumer: Consumer, outlet: Outlet, end: int) -> Progress | None:
    """Read up to the topic's end: an open transaction of another publisher hides what was committed after it began."""
    newest, topic = None, outlet.progress_topic
    while (message := consumer.poll(TIMEOUT)) is not None:
        error = message.error()
        if error is None:
            if message.key() == outlet.name.encode():
                newest = Progress.from_json(message.value() or b"")
        elif error.code() != KafkaError._PARTITION_EOF:
            raise KafkaException(error)
        elif (message.offset() or 0) >= end:
            return newest
    raise EnvironmentFault(f"topic {topic} could not be read to its end: a transaction in it is still open")
