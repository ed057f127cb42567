"""Records put through the classifier, as a landing and a model's read of it do."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from decimal import localcontext
from typing import Any

from pyspark.sql import Column, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import VariantVal

from headrace.landing.classify import classify, data_column, look_closely, parsed
from headrace.project.model import Topic

RECORD_TIME = datetime(2026, 5, 31, 12, tzinfo=timezone.utc)
LANDED_AT = datetime(2026, 6, 1, tzinfo=timezone.utc)

_KAFKA = (
    "number int, key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp, "
    "headers array<struct<key: string, value: binary>>"
)


@dataclass(frozen=True)
class Record:
    """What Kafka holds."""

    value: bytes | None
    key: bytes | None = b"k"
    timestamp: datetime = RECORD_TIME


@dataclass(frozen=True)
class Verdict:
    """What landed, and the data that a model reads; times are UTC without a zone."""

    reason: str | None
    event_time: datetime | None
    data: Any
    key: str | None
    value: str | None
    key_bytes: bytes | None
    value_bytes: bytes | None


def judge(spark: SparkSession, topic: Topic, records: Sequence[Record], quick: bool = False) -> list[Verdict]:
    """Classify all records in one Spark job; the data read in passing must equal what a model reads later.

    `quick` has two steps, as large landing batches do: a quick check, and a full one of what that leaves undecided.
    """
    rows = [(n, r.key, r.value, topic.topic, 0, n, r.timestamp, []) for n, r in enumerate(records)]
    judged = classify(spark.createDataFrame(rows, _KAFKA), [topic], LANDED_AT, closely=not quick)
    if quick:
        judged = look_closely(judged.localCheckpoint(), [topic]).orderBy("number")
    data = F.when(F.col("reject_reason").isNull(), _zoneless(parsed(topic), topic.ddl)).alias("data")
    at_once = _zoneless(F.col(data_column(topic)), topic.ddl).alias("at_once")
    times = _zoneless(F.col("event_time"), "timestamp").alias("event_time")
    found = judged.select(
        "number", "reject_reason", times, data, "key", "value", "_key_bytes", "_value_bytes", at_once
    ).collect()
    assert [row.number for row in found] == [*range(len(records))]
    return [_verdict(row) for row in found]


def _zoneless(column: Column, ddl: str) -> Column:
    """Python gets a timestamp in the zone of its machine, and cannot hold every one of those."""
    return column.cast(re.sub(r"\btimestamp\b", "timestamp_ntz", ddl))


def _verdict(row: Row) -> Verdict:
    _, reason, event_time, data, key, value, key_bytes, value_bytes, at_once = row
    assert _plain(at_once) == _plain(data)
    as_read = (None if raw is None else bytes(raw) for raw in (key_bytes, value_bytes))
    return Verdict(reason, event_time, _plain(data), key, value, *as_read)


def _plain(data: Any) -> Any:
    match data:
        case Row():
            return {name: _plain(value) for name, value in data.asDict().items()}
        case dict():
            return {name: _plain(value) for name, value in data.items()}
        case list():
            return [_plain(each) for each in data]
        case VariantVal():
            with localcontext() as context:  # it computes decimals, and would round those of more than 28 digits
                context.prec = 38
                return data.toPython()
    return data
