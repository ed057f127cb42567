"""The newest value of a key in a topic."""

from __future__ import annotations

import json
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, TopicPartition

from headrace.errors import EnvironmentFault
from headrace.project.model import Kafka
from headrace.reading.topics import ANSWER_SECONDS, client_options, require

_GROUP = "headrace-newest"  # asked for by the client; nothing is committed to it


def newest_value(kafka: Kafka, topic: str, key: str) -> Any:
    """The JSON value of a key's newest committed record; None if it has none, or none that is JSON."""
    topic = kafka.named(topic)
    unread = set(range(require(kafka, topic)))
    settings = {"group.id": _GROUP, "enable.auto.commit": False, "isolation.level": "read_committed"}
    consumer = Consumer({**client_options(kafka), **settings, "enable.partition.eof": True})
    newest: str | bytes | None = None
    try:
        consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING) for partition in unread])
        while unread:
            messages = consumer.consume(500, ANSWER_SECONDS)
            if not messages:
                raise EnvironmentFault(f"Kafka at {kafka.bootstrap} says nothing of topic {topic}: try again")
            for message in messages:
                error = message.error()
                if error is None:
                    newest = message.value() if message.key() == key.encode() else newest
                elif error.code() == KafkaError._PARTITION_EOF:
                    unread.discard(message.partition() or 0)
                elif error.fatal() or error.code() > 0:
                    raise KafkaException(error)
    finally:
        consumer.close()
    return _parsed(newest)


def _parsed(value: str | bytes | None) -> Any:
    try:
        return None if value is None else json.loads(value)
    except ValueError:
        return None
