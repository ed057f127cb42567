"""The verdicts on a landing batch: few records by a cached plan, many by one that is planned for their topics."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.functions import lit
from pyspark.sql.types import StructType

from headrace.landing.classify import UNSURE, classify, data_column, look_closely
from headrace.landing.records import SCHEMA
from headrace.project.model import LANDING_COLUMNS, Topic
from headrace.spark.materialized import Materialized
from headrace.spark.small_batches import SmallBatches

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_MOMENT = StructType().add("batch", "integer").add("landed_at", "timestamp")


@dataclass(frozen=True)
class Moment:
    """The number of a landing batch, and the time at which it lands."""

    batch: int
    landed_at: datetime


class Judge:
    """Gives each record of a landing its verdict, and the number and time of its batch."""

    def __init__(self, batches: SmallBatches, topics: Sequence[Topic]) -> None:
        self._batches = batches
        self._topics = topics
        self._looks_closely = False

    def few(self, records: Sequence[Sequence[Any]], moment: Moment) -> Materialized:
        """Records and the moment are leaves of one plan, so that the verdict need not be planned again."""
        micros = (moment.landed_at - _EPOCH) // timedelta(microseconds=1)
        at = self._batches.fill("moment", [(moment.batch, micros)], _MOMENT).frame
        rows = self._batches.fill("records", records, SCHEMA).frame
        return self._batches.compute("landed", lambda: _classified(_at(rows, at), self._topics), rows, at)

    def many(self, records: DataFrame, read: Collection[str], moment: Moment) -> Materialized:
        """Records of the topics that are named; this is planned for each batch, so it judges no other topics."""
        topics = [topic for topic in self._topics if topic.topic in read]
        batch = lit(moment.batch).cast("bigint")
        frame = records.withColumns({"landed_at": lit(moment.landed_at), "landing_batch": batch})
        return self._closely(frame, topics) if self._looks_closely else self._quickly(frame, topics)

    def _closely(self, frame: DataFrame, topics: Sequence[Topic]) -> Materialized:
        more = [data_column(topic) for topic in topics]
        return self._batches.compute("close look", lambda: _classified(frame, topics, more), frame)

    def _quickly(self, frame: DataFrame, topics: Sequence[Topic]) -> Materialized:
        """What a quick check leaves open is looked at closely; if that is most of a batch, later ones do without."""
        more = [*map(data_column, topics), UNSURE]
        rows = self._batches.compute("quick check", lambda: _classified(frame, topics, more, closely=False), frame)
        unsure = rows.count_where(UNSURE)
        self._looks_closely = 2 * unsure > rows.count
        if not unsure:
            return rows
        parts = rows.frame.rdd.getNumPartitions()
        return rows.narrowed(look_closely(rows.frame, topics).coalesce(parts))


def _classified(
    records: DataFrame, topics: Sequence[Topic], more: Iterable[str] = (), closely: bool = True
) -> DataFrame:
    rows = classify(records, topics, F.col("landed_at"), closely)
    return rows.select(*[F.col(name).cast(ddl).alias(name) for name, ddl in LANDING_COLUMNS], *more)


def _at(records: DataFrame, moment: DataFrame) -> DataFrame:
    """Records with the number of their batch and the time it lands."""
    at = records.join(moment.hint("shuffle_replicate_nl"))
    return at.withColumn("landing_batch", F.col("batch").cast("bigint")).drop("batch")
