"""Metadata that the driver itself requests from Kafka: topics, their ids, and their offsets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from confluent_kafka import IsolationLevel, KafkaError, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._listoffsets import OffsetSpec
from confluent_kafka.cimpl import NewTopic
from tenacity import Retrying, retry_if_exception, stop_after_delay, wait_fixed

from headrace.project.kafka_options.certificates import is_of_options, obstacle

TIMEOUT = 10.0
_PATIENCE = TIMEOUT + 5.0
"""The client itself reports what it could not reach, a little after its timeout."""

_EARLIEST = OffsetSpec.earliest()  # type: ignore[no-untyped-call]
_LATEST = OffsetSpec.latest()  # type: ignore[no-untyped-call]

_LEADERLESS = (KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.LEADER_NOT_AVAILABLE)
"""Transient answers about a partition that was just created, or that moves."""

Offsets = dict[str, dict[int, int]]
"""Next offset to read, per topic and partition."""


@dataclass(frozen=True)
class Described:
    """A topic's id, which changes when it is deleted and created again, and its partitions."""

    id: str
    partitions: tuple[int, ...]


class BrokerAdmin:
    """Metadata requests to one Kafka cluster; each has a timeout and raises on failure."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        self._refused: KafkaError | None = None
        self._config = config
        known: dict[str, Any] = {**config, "error_cb": self._note}
        self._admin = AdminClient(known)

    def describe(self, topics: Iterable[str]) -> dict[str, Described]:
        """Each topic that exists."""
        with self._explaining():
            return self._described(topics)

    def _described(self, topics: Iterable[str]) -> dict[str, Described]:
        futures = self._admin.describe_topics(TopicCollection(list(topics)), request_timeout=TIMEOUT)
        found = {}
        for name, future in futures.items():
            try:
                info = future.result(_PATIENCE)
                found[name] = Described(str(info.topic_id), tuple(sorted(p.id for p in info.partitions)))
            except KafkaException as error:
                if error.args[0].code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
                    raise
        return found

    def create(self, topic: str) -> None:
        """Create a topic of one partition, if nobody else does so meanwhile."""
        try:
            self._admin.create_topics([NewTopic(topic, 1)], request_timeout=TIMEOUT)[topic].result(_PATIENCE)
        except KafkaException as error:
            if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise

    def ends(self, partitions: Mapping[str, Iterable[int]], committed: bool) -> Offsets:
        """The offset after the last readable record of each partition."""
        return self._list(partitions, _LATEST, committed)

    def starts(self, partitions: Mapping[str, Iterable[int]]) -> Offsets:
        """The first offset that each partition still has."""
        return self._list(partitions, _EARLIEST, False)

    def at(self, partitions: Mapping[str, Iterable[int]], millis: int) -> Offsets:
        """The first offset at or after a time; the end where nothing is that new."""
        found = self._list(partitions, OffsetSpec.for_timestamp(millis), False)
        ends = self.ends(partitions, False)
        return {t: {p: ends[t][p] if o < 0 else o for p, o in offsets.items()} for t, offsets in found.items()}

    def _list(self, partitions: Mapping[str, Iterable[int]], spec: OffsetSpec, committed: bool) -> Offsets:
        wanted = {TopicPartition(topic, p): spec for topic, numbers in partitions.items() for p in numbers}
        if not wanted:
            return {}
        return _retried(self._listed, wanted, committed)

    def _listed(self, wanted: dict[TopicPartition, OffsetSpec], committed: bool) -> Offsets:
        level = IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED
        found: Offsets = {}
        with self._explaining():
            for at, future in self._admin.list_offsets(wanted, isolation_level=level, request_timeout=TIMEOUT).items():
                found.setdefault(at.topic, {})[at.partition] = future.result(_PATIENCE).offset
        return found

    def _note(self, error: KafkaError) -> None:
        if is_of_options(error):  # it hides behind requests that are late
            self._refused = error

    @contextmanager
    def _explaining(self) -> Iterator[None]:
        """Raise that login, certificate or TLS do not fit, and not that no broker has taken the request in time."""
        try:
            yield
            self._refused = None
        except KafkaException as error:
            self._admin.poll(0)  # calls error_cb
            if error.args[0].code() != KafkaError._TIMED_OUT:
                raise
            if reason := obstacle(self._refused or error.args[0], self._config):
                code = self._refused.code() if self._refused is not None else KafkaError._SSL
                raise KafkaException(KafkaError(code, reason)) from None
            raise


def _retried(request: Callable[..., Offsets], *arguments: Any) -> Offsets:
    """Repeat a request while a partition has no leader."""
    until, pause = stop_after_delay(TIMEOUT), wait_fixed(0.1)
    return Retrying(retry=retry_if_exception(_has_no_leader), stop=until, wait=pause, reraise=True)(request, *arguments)


def _has_no_leader(error: BaseException) -> bool:
    return isinstance(error, KafkaException) and error.args[0].code() in _LEADERLESS
