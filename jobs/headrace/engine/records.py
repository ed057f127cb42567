"""Few Kafka records, read on the calling thread by Spark's own consumers: to plan it would cost more than to do it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.types import ArrayType, StructType

from headrace.engine.driver_java import driver_task
from headrace.engine.jvm import confs_of, scala_object, scala_sequence
from headrace.engine.slot import Rows

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

_PREFIX = "kafka."
_POLL_TIMEOUT_MS = 120_000


class RecordReader:
    """Reads ranges of offsets. An error if one is no longer there: nothing is skipped."""

    def __init__(self, session: SparkSession, options: Mapping[str, str]) -> None:
        """`options` are those of Spark's Kafka source; those for consumers begin with `kafka.`."""
        jvm: Any = session._jvm
        self._jvm = jvm
        self._session = session
        self._kafka = jvm.org.apache.spark.sql.kafka010
        given = scala_object(jvm.scala.collection.immutable, "Map").empty()
        for name, value in options.items():
            if name.startswith(_PREFIX):
                given = given.updated(name.removeprefix(_PREFIX), value)
        group = options[f"{_PREFIX}group.id"]
        self._params = scala_object(self._kafka, "KafkaSourceProvider").kafkaParamsForExecutors(given, group)
        self._to_row = self._kafka.KafkaRecordToRowConverter().toInternalRowWithHeaders()
        self._task = driver_task(session)
        self._confs = confs_of(session)

    def rows(self, ranges: Mapping[tuple[str, int], tuple[int, int]]) -> Rows:
        """The records of `(topic, partition)` from one offset up to another that is not read, of all these ranges."""
        none = self._jvm.scala.Option.empty()
        partition, kind = self._jvm.org.apache.kafka.common.TopicPartition, self._kafka.KafkaOffsetRange
        asked = [kind(partition(*at), start, end, none) for at, (start, end) in ranges.items()]
        context = self._session.sparkContext._jsc.sc()
        sequence = scala_sequence(self._session, kind, asked)
        found = self._kafka.KafkaSourceRDD(context, self._params, sequence, _POLL_TIMEOUT_MS, True)
        records = sum(end - start for start, end in ranges.values())
        return Rows(self._task.rows(found, self._to_row, records, self._confs))
