"""The records of a case as Kafka would hold them: bytes, offsets and times."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from typing import Any

from headrace.project.model import SEED_PARTITION, Project
from headrace.testing.cases.case import Batch, Record, topic_named

EPOCH = datetime(2026, 1, 1, tzinfo=timezone.utc)
"""Kafka's time of a case's first record, if it has none; each further record is a second later."""

_SECOND = timedelta(seconds=1)


@dataclass(frozen=True)
class Sent:
    """One record of a Kafka topic."""

    landing: str
    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes], ...]
    timestamp: datetime


@dataclass(frozen=True)
class Arrival:
    """What lands together, and when; without records it is a tick."""

    number: int
    landed_at: datetime
    records: tuple[Sent, ...]


def arrivals(project: Project, given: Iterable[Batch], seeds: bool = False) -> Iterator[Arrival]:
    """Landing batches as they come: each lands a second after its newest record, unless it has a time of its own."""
    numbering = _Numbering()
    landed_at = EPOCH
    if seeds:
        yield Arrival(0, landed_at, tuple(_seeds(project)))
    for number, batch in enumerate(given, start=int(seeds)):
        records = tuple(_records(project, batch, numbering))
        landed_at = batch.at or max(landed_at, *(record.timestamp for record in records)) + _SECOND
        yield Arrival(number, landed_at, records)


class _Numbering:
    """Offsets that count up in each partition, and times that count up over all records."""

    def __init__(self) -> None:
        self._offsets: dict[tuple[str, int], int] = {}
        self._count = 0

    def offset(self, topic: str, record: Record) -> int:
        at = (topic, record.partition)
        offset = self._offsets.get(at, 0) if record.offset is None else record.offset
        self._offsets[at] = offset + 1
        return offset

    def timestamp(self, record: Record) -> datetime:
        self._count += 1
        return record.timestamp or EPOCH + (self._count - 1) * _SECOND


def _seeds(project: Project) -> Iterator[Sent]:
    for landing in project.landings:
        for topic in landing.topics:
            for seed in topic.seeds:
                where = (landing.name, topic.topic, SEED_PARTITION, seed.line)
                yield Sent(*where, _bytes(seed.key), None if seed.value is None else _bytes(seed.value), (), EPOCH)


def _records(project: Project, batch: Batch, numbering: _Numbering) -> Iterator[Sent]:
    for name, records in batch.records.items():
        source = topic_named(project, name)
        assert source is not None, "checked before"
        landing, topic = source
        for record in records:
            yield Sent(
                landing.name,
                topic.topic,
                record.partition,
                numbering.offset(topic.topic, record),
                _key(record.key),
                _value(record.value),
                tuple((name, _bytes(text)) for name, text in record.headers.items()),
                numbering.timestamp(record),
            )


def _key(key: str | int | bytes | None) -> bytes | None:
    return key if key is None or isinstance(key, bytes) else _bytes(str(key))


def _value(value: Any) -> bytes | None:
    if value is None or isinstance(value, bytes):
        return value
    return _bytes(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=_text))


def _bytes(text: str) -> bytes:
    return text.encode(errors="surrogatepass")  # half a surrogate pair is no UTF-8, in Kafka neither


def _text(value: Any) -> str:
    """YAML parses times; in JSON they are text."""
    assert isinstance(value, (date, datetime))
    return value.isoformat()
