"""Kafka records of known offsets, read by Spark's own consumers.

Few are read on the calling thread, as to plan it would cost more than to do it. Many are a frame; that of Spark's own
Kafka source asks the broker for the offsets once more, and makes an object of each record and each of its fields
before it makes a row of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import ArrayType, StructType

from headrace.spark.driver_java import driver_task
from headrace.spark.jvm import confs_of, scala_object, scala_sequence
from headrace.spark.session import SMALL_BATCH_BYTES
from headrace.spark.slot import Rows

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

_PREFIX = "kafka."
_POLL_TIMEOUT_MS = 120_000


class RecordReader:
    """Reads ranges of offsets. An error if one is no longer there: nothing is skipped."""

    def __init__(self, session: SparkSession, options: Mapping[str, str]) -> None:
        """`options` are those of Spark's Kafka source; those for consumers begin with `kafka.`."""
        jvm: Any = session._jvm
        self._jvm = jvm
        self._session = session
        self._spark: Any = session._jsparkSession
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

    def rows(self, ranges: Ranges) -> Rows | None:
        """The records of these ranges, at once; None if their values are too large for that."""
        records, source = sum(end - start for start, end in ranges.values()), self._source(self._asked(ranges))
        found = self._task.rows(source, self._to_row, records, SMALL_BATCH_BYTES, self._confs)
        return None if found is None else Rows(found)

    def frame(self, ranges: Ranges) -> DataFrame:
        """The records of these ranges, in at least as many parts as there are cores."""
        option, spark = self._jvm.scala.Option, self._spark
        cores = option.apply(self._session.sparkContext.defaultParallelism)
        calculator = self._kafka.KafkaOffsetRangeCalculator(cores, option.empty())
        parts = calculator.getRanges(self._asked(ranges), scala_sequence(self._session, self._jvm.java.lang.String, ()))
        kind = self._jvm.java.lang.Class.forName("org.apache.spark.sql.catalyst.InternalRow")
        tag = scala_object(self._jvm.scala.reflect, "ClassTag").apply(kind)
        rows = self._source(parts).map(self._to_row, tag)
        return DataFrame(spark.internalCreateDataFrame(rows, spark.parseDataType(SCHEMA.json()), False), self._session)

    def _asked(self, ranges: Ranges) -> Any:
        none = self._jvm.scala.Option.empty()
        partition, kind = self._jvm.org.apache.kafka.common.TopicPartition, self._kafka.KafkaOffsetRange
        asked = [kind(partition(*at), start, end, none) for at, (start, end) in ranges.items()]
        return scala_sequence(self._session, kind, asked)

    def _source(self, ranges: Any) -> Any:
        context = self._session.sparkContext._jsc.sc()
        return self._kafka.KafkaSourceRDD(context, self._params, ranges, _POLL_TIMEOUT_MS, True)
