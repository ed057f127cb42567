"""Publishing: a model's rows go to Kafka in transactions that also hold how far they got, so each is seen once."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.error import KafkaError
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from headrace.engine.delta import Commit, CommitTable
from headrace.engine.session import child, tune
from headrace.errors import HeadraceError
from headrace.project.model import Model, Publish

CHUNK_ROWS = 5_000
TIMEOUT = 30.0


@dataclass(frozen=True)
class Progress:
    """How far a table has been sent: all versions before `version`, and `position` rows of that one."""

    table_id: str
    version: int = 0
    position: int = 0


@dataclass(frozen=True)
class Outlet:
    """Where a publisher sends: client configuration, the topic that holds progress, and its key there."""

    config: dict[str, Any]
    progress_topic: str
    name: str


class Publisher:
    """Sends the rows of one append model, in arrival order, exactly once for read_committed consumers.

    The transactional id is the publisher's name, so a forgotten twin is fenced off by `init_transactions`; only then
    is the progress read.
    """

    def __init__(self, spark: SparkSession, model: Model, table: CommitTable, outlet: Outlet, notes: Path) -> None:
        assert model.publish is not None
        self.model = model
        self.session = child(spark, f"publish_{model.name}")
        self.sent = 0
        self.set_aside = 0
        self._publish: Publish = model.publish
        self._table = table
        self._outlet = outlet
        self._notes = notes
        self._producer: Producer | None = None
        self._progress = Progress("")

    def step(self, skip: Callable[[Commit], bool] = lambda commit: False) -> int | None:
        """Send what has been committed since the last step; the number of rows, or None if there was nothing new."""
        if self._producer is None:
            self._open()
        commits = list(self._table.commits(self._progress.version - 1))
        if not commits:
            return None
        sent = 0
        for commit in commits:
            if commit.batch >= 0 and not skip(commit):
                sent += self._send_commit(commit)
            self._progress = replace(self._progress, version=commit.version + 1, position=0)
        self.sent += sent
        return sent

    @property
    def version(self) -> int:
        """Every version before this one has been sent."""
        return self._progress.version

    def close(self) -> None:
        """Give up the producer; the next step opens another and reads the progress again."""
        self._producer = None

    def _open(self) -> None:
        config = {**self._outlet.config, "transactional.id": self._outlet.name, "partitioner": "murmur2_random"}
        producer = Producer({**config, "enable.idempotence": True, "linger.ms": 5, "transaction.timeout.ms": 60_000})
        producer.init_transactions(TIMEOUT)
        table_id = self._table.id()
        found = read_progress(self._outlet)
        self._progress = found if found and found.table_id == table_id else Progress(table_id)
        self._producer = producer

    def _send_commit(self, commit: Commit) -> int:
        rows = self._messages(commit)
        position = self._progress.position if self._progress.version == commit.version else 0
        rows = islice(rows, position, None)
        sent = 0
        while chunk := list(islice(rows, CHUNK_ROWS)):
            position += len(chunk)
            self._send(chunk, Progress(self._progress.table_id, commit.version, position))
            sent += len(chunk)
        return sent

    def _messages(self, commit: Commit) -> Iterator[Row]:
        count = int(commit.marker.get("rows", 0))
        tune(self.session, count)
        rows = message_rows(self._table.rows(self.session, commit), self._publish)
        return iter(rows.collect()) if count <= CHUNK_ROWS else rows.toLocalIterator(prefetchPartitions=True)

    def _send(self, chunk: Sequence[Row], progress: Progress) -> None:
        """One transaction: the rows and how far they get. Rows too large for the broker are set aside."""
        too_large: set[int] = set()
        while not self._try_send(chunk, progress, too_large):
            pass
        for number in sorted(too_large):
            self._set_aside(chunk[number])

    def _try_send(self, chunk: Sequence[Row], progress: Progress, too_large: set[int]) -> bool:
        producer, failed = self._producer, dict[int, KafkaError]()
        assert producer is not None

        def on_delivery(number: int) -> Callable[[KafkaError | None, Any], None]:
            return lambda error, _: failed.update({number: error}) if error else None

        producer.begin_transaction()
        for number, row in enumerate(chunk):
            if number in too_large:
                continue
            try:
                self._produce(producer, row, on_delivery(number))
            except KafkaException as error:
                failed[number] = error.args[0]
        record = json.dumps({"table": progress.table_id, "version": progress.version, "position": progress.position})
        producer.produce(self._outlet.progress_topic, key=self._outlet.name, value=record, partition=0)
        producer.flush(TIMEOUT)
        grown = {n for n, e in failed.items() if e.code() == KafkaError.MSG_SIZE_TOO_LARGE}
        if failed and not grown:
            raise KafkaException(next(iter(failed.values())))
        if grown:
            producer.abort_transaction(TIMEOUT)
            too_large |= grown
            return False
        producer.commit_transaction(TIMEOUT)
        return True

    def _produce(self, producer: Producer, row: Row, on_delivery: Callable[[KafkaError | None, Any], None]) -> None:
        while True:
            try:
                producer.produce(row.topic, key=row.key, value=row.value, on_delivery=on_delivery)
                return
            except BufferError:
                producer.poll(1.0)

    def _set_aside(self, row: Row) -> None:
        self.set_aside += 1
        self._notes.mkdir(parents=True, exist_ok=True)
        with (self._notes / f"{self.model.name}.ndjson").open("a") as file:
            note = {"topic": row.topic, "key": row.key, "bytes": len(row.value or ""), "reason": "too_large"}
            file.write(json.dumps(note) + "\n")


def message_rows(rows: DataFrame, publish: Publish) -> DataFrame:
    """Topic, key and JSON value of each row, in arrival order."""
    value = F.to_json(F.struct(*[F.col(column).alias(name) for name, column in publish.value]), {"ignoreNullFields": "false"})
    if publish.tombstone_when:
        value = F.when(~F.coalesce(F.expr(publish.tombstone_when), F.lit(False)), value)
    topic = F.col(publish.topic_column) if publish.topic_column else F.lit(publish.topic)
    order = ["_arrival"] if "_arrival" in rows.columns else []
    sent = rows.select(topic.alias("topic"), F.col(publish.key).cast("string").alias("key"), value.alias("value"), *order)
    return sent.orderBy(*order, "key", "value").select("topic", "key", "value")


def read_progress(outlet: Outlet) -> Progress | None:
    """The newest committed progress record of a publisher."""
    settings = {"group.id": outlet.name, "isolation.level": "read_committed", "enable.auto.commit": False}
    consumer = Consumer({**outlet.config, **settings, "auto.offset.reset": "earliest", "enable.partition.eof": True})
    try:
        consumer.assign([TopicPartition(outlet.progress_topic, 0, 0)])
        return _newest_progress(consumer, outlet)
    finally:
        consumer.close()


def _newest_progress(consumer: Consumer, outlet: Outlet) -> Progress | None:
    newest = None
    while True:
        message = consumer.poll(TIMEOUT)
        if message is None:
            raise HeadraceError(f"topic {outlet.progress_topic} could not be read within {TIMEOUT:.0f} s")
        if message.error():
            if message.error().code() == KafkaError._PARTITION_EOF:
                return newest
            raise KafkaException(message.error())
        if message.key() == outlet.name.encode() and message.value():
            told = json.loads(message.value())
            newest = Progress(told["table"], told["version"], told["position"])
