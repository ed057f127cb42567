"""Kafka topics for readers and producers: which exist, which are missing, and whether a broker answers."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping, Set
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from tenacity import RetryError, Retrying, retry_if_result, stop_after_delay, wait_fixed

from headrace.errors import EnvironmentFault, UsageError, did_you_mean
from headrace.project.kafka_options import certificates, client_properties
from headrace.project.model import Kafka, Project

ANSWER_SECONDS = 5.0
"""How long a broker may take to answer before it counts as unreachable."""

IDLE_CHECK_SECONDS = 5.0
"""How long a client may receive nothing before its connection is checked (see `seen_by`)."""

_SILENT = 0
"""librdkafka's syslog level that keeps its connection errors off stderr: we report them ourselves."""


def client_options(kafka: Kafka) -> dict[str, Any]:
    """The properties that every Kafka client of a target has in common."""
    own = client_properties.translated(kafka.options)
    quiet = {} if "log_level" in own else {"log_level": _SILENT, "logger": _nowhere()}
    return {"bootstrap.servers": kafka.bootstrap, **quiet, **own}


def _nowhere() -> logging.Logger:
    """The logger for what librdkafka says at any level: that it was fenced off is fatal to it, and raised as well."""
    logger = logging.getLogger("headrace.librdkafka")
    logger.propagate = False
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())
    return logger


def declared(project: Project) -> dict[str, int]:
    """The topics that a project lands, with the partitions it would create them with."""
    return {topic.topic: topic.partitions for landing in project.landings for topic in landing.topics}


def existing(kafka: Kafka) -> dict[str, int]:
    """Topics of a cluster and their partition counts, but for Kafka's own; EnvironmentFault if no broker answers."""
    return {name: count for name, count in _all(kafka).items() if not name.startswith("__")}


def require(kafka: Kafka, topic: str) -> int:
    """Return the partition count of a topic; UsageError if there is no such topic."""
    topics = existing(kafka)
    if topic not in topics:
        raise UsageError(f"unknown-topic: no topic {topic} at {kafka.bootstrap}.{did_you_mean(topic, topics)}")
    return topics[topic]


def seen_by(client: Consumer | Producer, topic: str) -> int:
    """How many partitions of a topic a client sees; KafkaException if it sees no broker, or no such topic.

    A broker that restarts may briefly answer that there is no broker, not even itself. librdkafka then forgets all
    brokers and never asks again (its issue 5301): such a client never receives anything again and must be replaced.
    """
    found = client.list_topics(topic, timeout=ANSWER_SECONDS).topics[topic]
    if found.error is not None:
        raise KafkaException(found.error)
    return len(found.partitions)


def can_reach(client: Consumer | Producer, topic: str) -> bool:
    """Whether a client that has received nothing can still see a topic; if not, it must be replaced."""
    try:
        seen_by(client, topic)
    except KafkaException:
        return False
    return True


def close_in_background(consumer: Consumer) -> None:
    """Close a replaced consumer without waiting: one that has lost its brokers takes a minute."""
    threading.Thread(target=consumer.close, name="leave", daemon=True).start()


def ensure(kafka: Kafka, wanted: Mapping[str, int], config: Mapping[str, str] | None = None) -> None:
    """Make sure that topics exist, each with its partitions if it must be created and the target allows it.

    Returns once they are visible: a cluster confirms a topic slightly before its brokers know it.
    """
    known = _all(kafka)
    missing = {name: count for name, count in wanted.items() if name not in known}
    if not missing:
        return
    if not kafka.create_topics:
        raise UsageError(
            f"unknown-topic: no topic {', '.join(missing)} at {kafka.bootstrap}: "
            "create it, or set kafka.create_topics: true in the target's conf"
        )
    admin = AdminClient(client_options(kafka))
    fresh = [NewTopic(name, count, config=dict(config or {})) for name, count in missing.items()]
    for made in admin.create_topics(fresh).values():
        try:
            made.result(ANSWER_SECONDS)
        except KafkaException as error:
            if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise EnvironmentFault(f"cannot create topics at {kafka.bootstrap}: {error.args[0].str()}") from None
    _await(kafka, missing.keys())


def _await(kafka: Kafka, topics: Set[str]) -> None:
    """Ask until a broker knows of topics."""
    again = retry_if_result(lambda known: not topics <= known.keys())
    try:
        Retrying(retry=again, stop=stop_after_delay(ANSWER_SECONDS), wait=wait_fixed(0.05))(_all, kafka)
    except RetryError:
        message = f"Kafka at {kafka.bootstrap} does not show topics that it has just created; try again"
        raise EnvironmentFault(message) from None


def _all(kafka: Kafka) -> dict[str, int]:
    faults: list[KafkaError] = []
    options = client_options(kafka)
    try:
        admin = AdminClient(options | {"error_cb": faults.append})
    except KafkaException as error:
        raise UsageError(f"kafka.options: {certificates.explained(error.args[0], options)}") from None
    try:
        topics = admin.list_topics(timeout=ANSWER_SECONDS).topics
    except KafkaException as error:
        admin.poll(0)  # calls error_cb with the cause
        raise _unreachable(kafka, certificates.cause(faults, error.args[0])) from None
    return {name: len(topic.partitions) for name, topic in topics.items()}


def _unreachable(kafka: Kafka, error: KafkaError) -> EnvironmentFault:
    """The error for a cluster that does not answer, or that a client of these options cannot talk to."""
    options = client_options(kafka)
    if reason := certificates.obstacle(error, options):
        return EnvironmentFault(f"Kafka at {kafka.bootstrap} cannot be used: {reason}; correct kafka.options in conf/")
    reason = certificates.explained(error, options)
    return EnvironmentFault(f"Kafka at {kafka.bootstrap} does not answer ({reason}): start it, or see kafka.bootstrap")
