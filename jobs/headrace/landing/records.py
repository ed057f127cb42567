"""Kafka records of known offsets: few are read by a client of the driver, many by Spark's own Kafka source.

Both give the same rows, in the columns of Spark's source, but without times before year 1 and after year 9999: anybody
may send them, and most readers of a table fail on them. Nothing is skipped: offsets that Kafka no longer holds are an
error.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any

from confluent_kafka import TIMESTAMP_NOT_AVAILABLE, Consumer, KafkaError, KafkaException, Message, TopicPartition
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, StructType

from headrace.errors import EnvironmentFault, HeadraceError
from headrace.reading.topics import close_in_background
from headrace.spark.session import SMALL_BATCH_BYTES
from headrace.spark.spark_errors import with_causes

_HEADER = StructType().add("key", "string").add("value", "binary")

SCHEMA = (
    StructType()
    .add("key", "binary")
    .add("value", "binary")
    .add("topic", "string")
    .add("partition", "integer")
    .add("offset", "long")
    .add("timestamp", "timestamp")
    .add("timestampType", "integer")
    .add("headers", ArrayType(_HEADER))
)
"""The columns of Spark's Kafka source, with headers."""

Ranges = Mapping[tuple[str, int], tuple[int, int]]
"""Of each topic and partition: the first offset, and the one up to which is read, which is not read itself."""

Record = tuple[bytes | None, bytes | None, str, int, int, int | None, int, list[tuple[str, bytes | None]] | None]
"""A row of `SCHEMA`; the time is in microseconds since 1970."""

FIRST_MILLIS, LAST_MILLIS = -62_135_596_800_000, 253_402_300_799_999
"""Years 1 to 9999, in milliseconds since 1970."""

_OVERFLOW = ("java.lang.ArithmeticException: long overflow", "fromJavaTimestamp")

SILENT_SECONDS = 60.0
"""How long Kafka may send nothing of what it said it holds."""

_FIXED = {
    "auto.offset.reset": "error",
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "enable.partition.eof": True,
    # What is fetched ahead of a batch is thrown away with it.
    "queued.max.messages.kbytes": SMALL_BATCH_BYTES >> 10,
}
_DEFAULTS = {"fetch.wait.max.ms": "20"}


class RecordReader:
    """Reads ranges of offsets."""

    def __init__(self, session: SparkSession, options: Mapping[str, str], client: Mapping[str, Any]) -> None:
        """`options` are those of Spark's Kafka source, `client` the properties of the driver's own client."""
        self._session = session
        self._options = dict(options)
        levels = {"group.id": options["kafka.group.id"], "isolation.level": options["kafka.isolation.level"]}
        self._config = {**_DEFAULTS, **client, **levels, **_FIXED}
        self._consumer: Consumer | None = None

    def few(self, ranges: Ranges) -> list[Record] | None:
        """The records of these ranges, at once; None if their values are too large for that."""
        consumer = self._consumer = self._consumer or Consumer(self._config)
        try:
            consumer.assign([TopicPartition(*at, start) for at, (start, _) in ranges.items()])
            found = _Fetch(consumer, ranges).records()
            consumer.unassign()
            return found
        except BaseException:
            self._consumer = None  # one that failed may never hear of a broker again
            close_in_background(consumer)
            raise

    def many(self, ranges: Ranges) -> DataFrame:
        """The records of these ranges as a frame, in at least as many parts as there are cores."""
        starts, ends = ({at: bounds[edge] for at, bounds in ranges.items()} for edge in (0, 1))
        asked = {
            "assign": json.dumps({topic: [*map(int, found)] for topic, found in _by_topic(starts).items()}),
            "startingOffsets": json.dumps(_by_topic(starts)),
            "endingOffsets": json.dumps(_by_topic(ends)),
            "minPartitions": str(self._session.sparkContext.defaultParallelism),
            "includeHeaders": "true",
        }
        found = self._session.read.format("kafka").options(**self._options).options(**asked).load()
        is_usual = F.unix_millis("timestamp").between(FIRST_MILLIS, LAST_MILLIS)
        return found.withColumn("timestamp", F.when(is_usual, F.col("timestamp")))

    def close(self) -> None:
        """Give the client's threads and connections back."""
        if self._consumer is not None:
            close_in_background(self._consumer)
        self._consumer = None


class _Fetch:
    """Polls until each partition has reached its end."""

    def __init__(self, consumer: Consumer, ranges: Ranges) -> None:
        self._consumer = consumer
        self._ranges = ranges
        self._left = {at: end for at, (start, end) in ranges.items() if start < end}
        self._bytes = 0

    def records(self) -> list[Record] | None:
        found: list[Record] = []
        heard = time.monotonic()
        while self._left and self._bytes <= SMALL_BATCH_BYTES:
            message = self._consumer.poll(1.0)
            if message is not None and self._is_record(message):
                found.append(_record(message))
                self._bytes += len(message.value() or b"")
            if message is not None:
                heard = time.monotonic()
            elif time.monotonic() - heard > SILENT_SECONDS:
                raise EnvironmentFault(self._silence())
        return found if self._bytes <= SMALL_BATCH_BYTES else None

    def _is_record(self, message: Message) -> bool:
        """Whether a message is a record that was asked for; notes which partitions have reached their end."""
        at = (str(message.topic()), int(message.partition() or 0))
        error, offset, end = message.error(), int(message.offset() or 0), self._left.get(at)
        if error is not None and error.code() != KafkaError._PARTITION_EOF:
            raise self._failure(error, at)
        if end is None:
            return False
        if offset >= end - (error is None):
            del self._left[at]
        return error is None and offset < end

    def _failure(self, error: KafkaError, at: tuple[str, int]) -> Exception:
        if error.code() not in (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE):
            return KafkaException(error)
        topic, partition = at
        start, _ = self._ranges.get(at, (0, 0))
        return HeadraceError(
            f"topic {topic}, partition {partition}: Kafka no longer holds the records from offset {start} on "
            "(OffsetOutOfRange); see its retention, and `headrace reset --help` for how to go on without them"
        )

    def _silence(self) -> str:
        missing = ", ".join(f"{topic}-{partition} up to {end}" for (topic, partition), end in self._left.items())
        return f"Kafka sends no records for {SILENT_SECONDS:.0f} s, and holds more: {missing}"


def _record(message: Message) -> Record:
    kind, millis = message.timestamp()
    headers = list(message.headers() or ()) or None
    with_type = -1 if kind == TIMESTAMP_NOT_AVAILABLE else kind - 1
    at = (str(message.topic()), int(message.partition() or 0), int(message.offset() or 0))
    time = millis * 1000 if FIRST_MILLIS <= millis <= LAST_MILLIS else None
    return message.key(), message.value(), *at, time, with_type, headers  # type: ignore[return-value]


def has_overflown(error: Exception) -> bool:
    """Whether `many` met a record whose time Spark's source cannot hold: it fails for all of them."""
    text = with_causes(error)
    return all(sign in text for sign in _OVERFLOW)


def _by_topic(offsets: Mapping[tuple[str, int], int]) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for (topic, partition), offset in offsets.items():
        found.setdefault(topic, {})[str(partition)] = offset
    return found
