"""Rows as Kafka records: topic, key and JSON value."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from headrace.engine.columns import lit
from headrace.project.model import Publish


def message_rows(rows: DataFrame, publish: Publish) -> DataFrame:
    """Topic, key and JSON value of each row, in arrival order."""
    order = ["_arrival"] if "_arrival" in rows.columns else []
    sent = rows.select(*message_columns(publish), *order)
    return sent.orderBy(*order, "key", "value").select("topic", "key", "value")


def as_json(messages: DataFrame) -> DataFrame:
    """All messages as one text: an array of arrays of topic, key and value, in the same order."""
    return messages.select(F.to_json(F.collect_list(F.array("topic", "key", "value"))))


def message_columns(publish: Publish) -> tuple[Column, Column, Column]:
    """Topic, key and JSON value."""
    fields = F.struct(*[F.col(column).alias(name) for name, column in publish.value])
    whole = publish.value_column
    value = F.col(whole) if whole else F.to_json(fields, {"ignoreNullFields": "false"})
    if publish.tombstone_when:
        value = F.when(~F.coalesce(F.expr(publish.tombstone_when), lit(False)), value)
    topic = lit(publish.topic)
    if publish.topic_column:
        topic = F.concat(F.col(publish.topic_column).cast("string"), lit(publish.suffix))
    return topic.alias("topic"), F.col(publish.key).cast("string").alias("key"), value.alias("value")
