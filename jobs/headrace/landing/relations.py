"""What a model may read of a landing: bronze relations with typed data."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.functions import lit

from headrace.landing.classify import data_column, parsed
from headrace.project.literals import quoted
from headrace.project.model import CLOCK_TOPIC, LANDING_COLUMNS, TICK_TOPIC, Topic

_NAMES = [name for name, _ in LANDING_COLUMNS]
_ARRIVAL = "struct(landing_batch, topic, partition, offset) as _arrival"


def bronze(landed: DataFrame, topic: Topic) -> DataFrame:
    """A topic's usable rows: the landing columns, the parsed value as `data`, and `_arrival`; or a landing's clock.

    Rows that come directly from their landing may already hold the parsed value.
    """
    if topic.is_clock:
        return _clock(landed)
    usable = landed.where(f"topic = {quoted(topic.topic)} and reject_reason is null")
    known, columns = data_column(topic), landed.columns
    data = F.col(known) if known in columns else parsed(topic)
    stored = ["*"] if columns == _NAMES else _NAMES
    return usable.select(*stored, data.alias("data"), F.expr(_ARRIVAL))


def _clock(landed: DataFrame) -> DataFrame:
    """A row for each landing batch, after all of its records in the order of arrival; also if it is only a tick."""
    batches = landed.groupBy("landing_batch").agg(
        F.max("landed_at").alias("landed_at"),
        F.max("event_time").alias("event_time"),
        F.bool_and(F.col("topic") == TICK_TOPIC).alias("is_tick"),
    )
    last = [
        lit(CLOCK_TOPIC).alias("topic"),
        lit(0).alias("partition"),
        lit(0).cast("bigint").alias("offset"),
    ]
    return batches.select("landed_at", "event_time", "is_tick", F.struct("landing_batch", *last).alias("_arrival"))
