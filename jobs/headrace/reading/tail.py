"""Following what arrives: the records of a Kafka topic, or the new rows of a stored table."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from functools import partial
from typing import Any, Literal, cast

from confluent_kafka import (
    OFFSET_BEGINNING,
    TIMESTAMP_NOT_AVAILABLE,
    Consumer,
    KafkaException,
    Message,
    TopicPartition,
)

from headrace.errors import EnvironmentFault
from headrace.project.model import Kafka, Project
from headrace.reading.rows import Row, query, to_json, to_text
from headrace.reading.stored import Relation, streams
from headrace.reading.topics import (
    ANSWER_SECONDS,
    IDLE_CHECK_SECONDS,
    client_options,
    close_in_background,
    require,
    seen_by,
)
from headrace.store.layout import Layout
from headrace.terminal import printable

Start = Literal["beginning", "end"]

_POLL_SECONDS = 0.3
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


@dataclass(frozen=True)
class Until:
    """When following ends: after `quiet` seconds without anything new, or when `stopped` returns true."""

    quiet: float | None = None
    stopped: Callable[[], bool] = lambda: False


def tail_topic(
    kafka: Kafka, topic: str, start: Start | Mapping[int, int] = "beginning", until: Until = Until()
) -> Iterator[Row]:
    """Yield the committed records of a topic as they come, from all its partitions.

    `start` may map partitions to offsets; one that it does not name, or that no longer has the offset,
    starts at its beginning.
    """
    with closing(TopicFollower(kafka, kafka.named(topic), start)) as follower:
        yield from _follow(follower.poll, until)


def tail_table(
    project: Project, layout: Layout, name: str, start: Start = "beginning", until: Until = Until()
) -> Iterator[Row]:
    """Yield the rows of a stored table as they are committed; of an upsert model, every change."""
    follower = TableFollower(project, layout, name, start)

    def poll() -> Iterator[Row]:
        yield from follower.poll()
        time.sleep(_POLL_SECONDS)

    yield from _follow(poll, until)


class TopicFollower:
    """Remembers how far each partition of a topic has been read, also when its consumer has to be replaced."""

    def __init__(self, kafka: Kafka, topic: str, start: Start | Mapping[int, int] = "beginning") -> None:
        self._kafka, self._topic = kafka, topic
        offsets = start if isinstance(start, Mapping) else {}
        self._offsets = {number: offsets.get(number, OFFSET_BEGINNING) for number in range(require(kafka, topic))}
        self._consumer = self._connected()
        if start == "end":
            self._offsets = {number: self._end(number) for number in self._offsets}
        self._last_received = self._looked_at = time.monotonic()
        self._assign()

    def poll(self) -> Iterator[Row]:
        """Yield what has come since the last call; waits a moment for the first record."""
        first = self._consumer.poll(_POLL_SECONDS)
        for message in [] if first is None else [first, *self._consumer.consume(500, 0)]:
            error = message.error()
            if error is None:
                self._offsets[message.partition() or 0] = (message.offset() or 0) + 1
                yield _record(message)
            elif error.fatal() or error.code() > 0:  # below 0: temporary client errors, from which it recovers
                raise EnvironmentFault(f"cannot read {message.topic()}: {error.str()}")
        now = time.monotonic()
        self._last_received = now if first is not None else self._last_received
        if now > self._looked_at + IDLE_CHECK_SECONDS:
            self._look(is_idle=now > self._last_received + IDLE_CHECK_SECONDS)
            self._looked_at = time.monotonic()

    def close(self) -> None:
        self._consumer.close()

    def _look(self, is_idle: bool) -> None:
        """Follow partitions that the topic has got meanwhile; replace an idle consumer that has lost its brokers."""
        try:
            fresh = range(len(self._offsets), seen_by(self._consumer, self._topic))
        except KafkaException:
            if is_idle:  # else no record would be taken for none
                close_in_background(self._consumer)
                self._consumer = self._connected()
                self._assign()
            return
        self._offsets |= dict.fromkeys(fresh, OFFSET_BEGINNING)
        self._consumer.incremental_assign([TopicPartition(self._topic, number, OFFSET_BEGINNING) for number in fresh])

    def _assign(self) -> None:
        self._consumer.assign([TopicPartition(self._topic, *place) for place in self._offsets.items()])

    def _end(self, partition: int) -> int:
        try:
            found = self._consumer.get_watermark_offsets(TopicPartition(self._topic, partition), timeout=ANSWER_SECONDS)
        except KafkaException as error:
            raise EnvironmentFault(f"cannot read {self._topic}: {error.args[0].str()}") from None
        return int(found[1])

    def _connected(self) -> Consumer:
        return Consumer(
            {
                **client_options(self._kafka),
                "group.id": "headrace-tail",  # asked for by the client; nothing is committed to it
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                "isolation.level": "read_committed",
            }
        )


class TableFollower:
    """Remembers which batches of a stored table have been read."""

    def __init__(self, project: Project, layout: Layout, name: str, start: Start = "beginning") -> None:
        self._streams = partial(streams, project, layout, name)
        self._versions: dict[int, list[int]] = {}
        self._read: dict[int, int] = {}
        for number, found in enumerate(self._streams()):
            if start == "end" and found.written:
                self._read[number] = _last_batch(found)

    def poll(self) -> Iterator[Row]:
        """Yield the rows of the batches that are new since the last call."""
        for number, found in enumerate(self._streams()):
            versions = [table.version() for table in found.tables.values()]
            if not found.written or versions == self._versions.get(number):
                continue
            newest, read = _last_batch(found), self._read.get(number, -1)
            since = read if newest >= read else -1  # a table that was reset starts again
            self._versions[number], self._read[number] = versions, newest
            new = f"{found.batch} > {since} order by {', '.join(found.order)}"
            yield from _select(found, f"* from {found.name} where {new}")


def topic_line(record: Row) -> str:
    """Write a record for people, in one line."""
    place = f"{record['topic']}[{record['partition']}]@{record['offset']}"
    return "  ".join((place, to_text(record["timestamp"]), to_text(record["key"]), printable(to_json(record["value"]))))


def table_line(row: Row) -> str:
    """Write a table row for people, in one line: its columns but those for bookkeeping."""
    return "  ".join(f"{name}={to_text(value)}" for name, value in row.items() if not name.startswith("_"))


def _follow(poll: Callable[[], Iterable[Row]], until: Until) -> Iterator[Row]:
    last = time.monotonic()
    while not until.stopped():
        for row in poll():
            yield row
            last = time.monotonic()
        if until.quiet is not None and time.monotonic() - last >= until.quiet:
            return


def _last_batch(found: Relation) -> int:
    (row,) = _select(found, f"coalesce(max({found.batch}), -1) as newest from {found.name}")
    return int(row["newest"])


def _select(found: Relation, rest: str) -> Iterator[Row]:
    return query(f"select {rest}", found.tables, {found.name: found.sql}).rows


def _record(message: Message) -> Row:
    return {
        "topic": message.topic(),
        "partition": message.partition(),
        "offset": message.offset(),
        "timestamp": _time(*message.timestamp()),
        "key": _decoded(message.key()),
        "value": _parsed(_decoded(message.value())),
        "headers": [{"key": name, "value": _decoded(value)} for name, value in _headers(message)],
    }


def _headers(message: Message) -> list[tuple[str, bytes | None]]:
    return cast(list[tuple[str, bytes | None]], message.headers() or [])


def _time(kind: int, milliseconds: int) -> datetime | None:
    try:
        return None if kind == TIMESTAMP_NOT_AVAILABLE else _EPOCH + timedelta(milliseconds=milliseconds)
    except OverflowError:  # beyond the year 9999
        return None


def _decoded(data: str | bytes | None) -> str | None:
    return data.decode(errors="replace") if isinstance(data, bytes) else data


def _parsed(value: str | None) -> Any:
    """The value as JSON where it is JSON, else its text."""
    try:
        return None if value is None else json.loads(value, parse_float=Decimal, parse_constant=_not_json)
    except (ValueError, RecursionError):
        return value


def _not_json(word: str) -> None:
    raise ValueError(word)
