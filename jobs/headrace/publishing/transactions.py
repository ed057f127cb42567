"""Transactions: rows of a table, each time with the record of how far they get, sent whole or not at all."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Producer
from pyspark.sql import Row

from headrace.publishing.outlet import TIMEOUT, Outlet
from headrace.publishing.progress import Progress
from headrace.publishing.set_aside import Notes

_FLUSH_SECONDS = 5.0
"""For rows that are on their way: a client that is dropped with some may end the process (librdkafka 2.16)."""


@dataclass(frozen=True)
class Message:
    """A row to send, and its place in the table's history."""

    row: Row
    place: Progress

    @property
    def noted_as(self) -> tuple[str, int, int]:
        """What identifies the row in the notes of those that were set aside."""
        return (self.place.table_id, -1 if self.place.replaced else self.place.version, self.place.position)

    def details(self, reason: str) -> dict[str, Any]:
        """What such a note says of it."""
        return {"topic": self.row.topic, "key": self.row.key, "bytes": len(self.row.value or ""), "reason": reason}


class Transactions:
    """Sends rows and progress by one producer; a row that is too large for the broker is set aside."""

    def __init__(self, outlet: Outlet, topics: Collection[str], table: str, notes: Notes) -> None:
        """`topics` are those that rows of the table need; `notes` takes the rows that are set aside."""
        self.outlet = outlet
        self.count_set_aside = 0
        self.recorded: Progress | None = None
        """What Kafka has confirmed last; None before that, and where it has not answered."""
        self._topics = topics
        self._table = table
        self._notes = notes
        self._producer: Producer | None = None

    @property
    def is_open(self) -> bool:
        """Whether there is a producer."""
        return self._producer is not None

    def open(self) -> None:
        """Connect; transactions that other instances left open are aborted, and those are fenced off."""
        self._producer = self.outlet.connect()

    def close(self) -> None:
        """Drop the producer."""
        if self._producer is not None:
            self._producer.flush(_FLUSH_SECONDS)
        self._producer = None

    def send(self, chunk: Sequence[Message], after: Progress) -> int:
        """Send rows; those too large for the broker are found by bisection, as one fails the whole transaction."""
        if self._try_send([message.row for message in chunk], after):
            return len(chunk)
        if len(chunk) == 1:
            self.set_aside([(chunk[0], "too_large")])
            self.record(after)
            return 0
        half = len(chunk) // 2
        sent = self.send(chunk[:half], chunk[half].place)
        return sent + self.send(chunk[half:], after)

    def record(self, progress: Progress) -> None:
        """Send a transaction that holds the progress alone."""
        self._try_send([], progress)

    def set_aside(self, rejected: Sequence[tuple[Message, str]]) -> None:
        """Count rows, each with the reason why it is not sent, and note them."""
        self.count_set_aside += len(rejected)
        self._notes.add({message.noted_as: message.details(reason) for message, reason in rejected})

    def _try_send(self, chunk: Sequence[Row], after: Progress) -> bool:
        """One transaction: the rows and how far they get. False if one was too large, and then none is sent."""
        producer, failed = self._producer, list[KafkaError]()
        assert producer is not None
        producer.begin_transaction()
        try:
            for row in chunk:
                self._produce(producer, row, lambda error, _: failed.append(error) if error else None)
            self.outlet.record(producer, after)
        except KafkaException as error:
            failed.append(error.args[0])
        producer.flush(TIMEOUT)
        if any(error.code() == KafkaError.MSG_SIZE_TOO_LARGE for error in failed):
            self.open()  # the old producer's next transaction would fail for nothing (librdkafka 2.16)
            return False
        if failed:
            self.outlet.require({*self._topics, *(row.topic for row in chunk)}, self._table)
            raise KafkaException(min(failed, key=_is_consequence))
        self.recorded = None
        producer.commit_transaction(TIMEOUT)
        self.recorded = after
        return True

    def _produce(self, producer: Producer, row: Row, on_delivery: Callable[[KafkaError | None, Any], None]) -> None:
        while True:
            try:
                producer.produce(row.topic, key=row.key, value=row.value, on_delivery=on_delivery)
                return
            except BufferError:
                producer.poll(1.0)


def _is_consequence(error: KafkaError) -> bool:
    """Whether a record was given up only as another one of its transaction failed."""
    return error.code() in (KafkaError._PURGE_QUEUE, KafkaError._PURGE_INFLIGHT)
