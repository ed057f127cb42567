"""Rows as Kafka records: topic, key and JSON value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F
from pyspark.sql.functions import lit

from headrace.project.model import Publish
from headrace.spark.columns import AS_JSON


def message_rows(rows: DataFrame, publish: Publish, are_many: bool = False) -> DataFrame:
    """Topic, key and JSON value of each row, in arrival order."""
    if "_arrival" not in rows.columns:
        return rows.select(*message_columns(publish)).orderBy("key", "value")
    if not are_many:
        return rows.select(*message_columns(publish), "_arrival").orderBy("_arrival", "key", "value").drop("_arrival")
    # Repartition before making JSON, since range partitioning samples its input; a struct is slow to compare.
    order = {f"_{part}": F.col(f"_arrival.{part}") for part in rows.select("_arrival.*").columns}
    sent = rows.repartitionByRange(*order.values()).select(*message_columns(publish), *_named(order))
    return sent.sortWithinPartitions(*order, "key", "value").drop(*order)


def _named(columns: Mapping[str, Column]) -> Iterator[Column]:
    return (column.alias(name) for name, column in columns.items())


def as_json(messages: DataFrame) -> DataFrame:
    """All messages as one text: an array of arrays of topic, key and value, in the same order."""
    return messages.select(F.to_json(F.collect_list(F.array("topic", "key", "value"))))


def message_columns(publish: Publish) -> tuple[Column, Column, Column]:
    """Topic, key and JSON value."""
    fields = F.struct(*[F.col(column).alias(name) for name, column in publish.value])
    whole = publish.value_column
    value = F.col(whole) if whole else F.to_json(fields, AS_JSON)
    if publish.tombstone_when:
        value = F.when(~F.coalesce(F.expr(publish.tombstone_when), lit(False)), value)
    topic = lit(publish.topic)
    if publish.topic_column:
        topic = F.concat(F.col(publish.topic_column).cast("string"), lit(publish.suffix))
    return topic.alias("topic"), F.col(publish.key).cast("string").alias("key"), value.alias("value")


def one_by_one(rows: DataFrame) -> Iterator[Row]:
    """The rows in their order, never all of them in memory.

    By way of the RDD: of a frame's own `toLocalIterator`, Spark's scheduler never forgets the jobs, as they start after
    the end of the SQL execution that they belong to.
    """
    return iter(rows.rdd.toLocalIterator(prefetchPartitions=True))
