"""What a case's records become when they land: the rows of landing tables, judged as the ingest query does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from pyspark.sql import Row, SparkSession
from pyspark.sql import functions as F

from headrace.engine.classify import classify
from headrace.project.model import LANDING_COLUMNS, TICK_TOPIC, Landing, Project
from headrace.testing.case import Batch
from headrace.testing.records import Arrival, Sent, arrivals

_KAFKA = (
    "key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp, timestampType int, "
    "headers array<struct<key: string, value: binary>>, landing_batch bigint, landed_at timestamp"
)
"""A frame as Spark's Kafka source gives it, and the landing batch of each record."""

_CREATE_TIME = 0


@dataclass(frozen=True, eq=False)
class LandedBatch:
    """One commit of a landing table; its files are written once, for all that land it."""

    landing: str
    number: int
    rows: tuple[Row, ...]
    is_tick: bool = False


@dataclass(frozen=True)
class Landed:
    """All that a case lands, in the order of the batches."""

    batches: tuple[LandedBatch, ...]

    @property
    def count(self) -> int:
        """How many batches there are, over all landings."""
        return max(batch.number for batch in self.batches) + 1

    @property
    def rejected(self) -> list[Row]:
        """The rows that cannot be used."""
        return [row for batch in self.batches for row in batch.rows if row.reject_reason is not None]

    def until(self, numbers: Iterable[int]) -> datetime:
        """When the last of some batches had landed; of none, when the last of all had."""
        landed = self.within(numbers) or self.batches
        moments: list[datetime] = [row.landed_at for batch in landed for row in batch.rows]
        return max(moments).astimezone(timezone.utc)

    def within(self, numbers: Iterable[int]) -> tuple[LandedBatch, ...]:
        """Some of the batches."""
        wanted = set(numbers)
        return tuple(batch for batch in self.batches if batch.number in wanted)

    def up_to(self, number: int) -> Landed:
        """What has landed once a batch has."""
        return Landed(tuple(batch for batch in self.batches if batch.number <= number))


def land(spark: SparkSession, project: Project, given: Iterable[Batch], seeds: bool = False) -> Landed:
    """Classify records and cut them into landing batches; with `seeds` those of the project come first."""
    coming = tuple(arrivals(project, given, seeds))
    rows = {landing.name: _classified(spark, landing, coming) for landing in project.landings}
    return Landed(tuple(batch for arrival in coming for batch in _batches(arrival, rows)))


def _classified(spark: SparkSession, landing: Landing, coming: Iterable[Arrival]) -> list[Row]:
    records = [_kafka(a, record) for a in coming for record in a.records if record.landing == landing.name]
    if not records:
        return []
    sent = {topic for _, _, topic, *_ in records}
    topics = [topic for topic in landing.topics if topic.topic in sent]  # a plan of all takes long to make
    judged = classify(spark.createDataFrame(records, _KAFKA), topics, F.col("landed_at"))
    return judged.select(*[F.col(name).cast(ddl).alias(name) for name, ddl in LANDING_COLUMNS]).collect()


def _kafka(arrival: Arrival, record: Sent) -> tuple[Any, ...]:
    where = (record.topic, record.partition, record.offset, record.timestamp, _CREATE_TIME)
    return (record.key, record.value, *where, list(record.headers), arrival.number, arrival.landed_at)


def _batches(arrival: Arrival, rows: Mapping[str, list[Row]]) -> Iterable[LandedBatch]:
    for landing, landed in rows.items():
        found = tuple(row for row in landed if row.landing_batch == arrival.number)
        past = [row for row in landed if row.landing_batch < arrival.number and row.event_time is not None]
        if found:
            yield LandedBatch(landing, arrival.number, found)
        elif not arrival.records and past:
            yield LandedBatch(landing, arrival.number, (_tick(arrival, past),), is_tick=True)


def _tick(arrival: Arrival, past: Iterable[Row]) -> Row:
    """A row that only makes time pass: the largest event time seen, moved on by the time since the last landing."""
    now = _local(arrival.landed_at)
    event_time = max(row.event_time for row in past) + (now - max(row.landed_at for row in past))
    row: dict[str, Any] = {name: None for name, _ in LANDING_COLUMNS}
    row |= {"landing_batch": arrival.number, "topic": TICK_TOPIC, "partition": 0, "offset": arrival.number}
    return Row(**{**row, "timestamp": now, "event_time": event_time, "landed_at": now})


def _local(moment: datetime) -> datetime:
    """As Spark gives times to Python: of the local zone, without saying so."""
    return moment.astimezone().replace(tzinfo=None)
