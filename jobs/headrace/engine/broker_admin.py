"""What the driver itself asks of Kafka: topics, their ids, and how far they go."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from confluent_kafka import IsolationLevel, KafkaError, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._listoffsets import OffsetSpec

TIMEOUT = 10.0
_PATIENCE = TIMEOUT + 5.0
"""The client says itself what it could not reach, a little after the time is up."""

_EARLIEST = OffsetSpec.earliest()  # type: ignore[no-untyped-call]
_LATEST = OffsetSpec.latest()  # type: ignore[no-untyped-call]

Offsets = dict[str, dict[int, int]]
"""Next offset to read, per topic and partition."""


@dataclass(frozen=True)
class Described:
    """A topic's id, which is another one after it was deleted and made again, and its partitions."""

    id: str
    partitions: tuple[int, ...]


class BrokerAdmin:
    """Metadata questions to one Kafka cluster; every one is time-boxed and fails loudly."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        self._admin = AdminClient(dict(config))

    def describe(self, topics: Iterable[str]) -> dict[str, Described]:
        """Each topic that exists."""
        futures = self._admin.describe_topics(TopicCollection(list(topics)), request_timeout=TIMEOUT)
        found = {}
        for name, future in futures.items():
            try:
                told = future.result(_PATIENCE)
                found[name] = Described(str(told.topic_id), tuple(sorted(p.id for p in told.partitions)))
            except KafkaException as error:
                if error.args[0].code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
                    raise
        return found

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
        level = IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED
        found: Offsets = {}
        for at, future in self._admin.list_offsets(wanted, isolation_level=level, request_timeout=TIMEOUT).items():
            found.setdefault(at.topic, {})[at.partition] = future.result(_PATIENCE).offset
        return found
