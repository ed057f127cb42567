"""Lands the records of a case: the rows of landing tables, classified as the ingest query does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from functools import cached_property
from threading import Lock
from typing import Any

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from headrace.checking import verdict
from headrace.landing import clocks
from headrace.landing.classify import classify
from headrace.landing.clocks import Clock, Reading, later, latest, micros, readings_as_json, source_key
from headrace.landing.relations import bronze
from headrace.project.model import LANDING_COLUMNS, TICK_TOPIC, Input, Landing, Macro, Project, Topic
from headrace.spark.arrow import frame_of_values
from headrace.spark.columns import columns_of, landing_schema, no_rows
from headrace.spark.implementations import small_batches
from headrace.spark.session import child
from headrace.spark.small_batches import SmallBatches
from headrace.testing.cases.case import Batch
from headrace.testing.cases.records import Arrival, Sent, arrivals

_KAFKA = {
    "key": "binary",
    "value": "binary",
    "topic": "string",
    "partition": "int",
    "offset": "bigint",
    "timestamp": "timestamp",
    "timestampType": "int",
    "headers": "array<struct<key: string, value: binary>>",
    "landing_batch": "bigint",
    "landed_at": "timestamp",
}
"""A record as Spark's Kafka source gives it, and its landing batch."""

_Record = tuple[Any, ...]
_CREATE_TIME = 0
_PLANS = 40
"""The most plans that are cached: a suite has many projects, and their plans fill the heap."""


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
        """When the last of some batches landed; without any, when the last of all did."""
        landed = self.within(numbers) or self.batches
        moments: list[datetime] = [row.landed_at for batch in landed for row in batch.rows]
        return max(moments).astimezone(timezone.utc)

    def within(self, numbers: Iterable[int]) -> tuple[LandedBatch, ...]:
        """Some of the batches."""
        wanted = set(numbers)
        return tuple(batch for batch in self.batches if batch.number in wanted)

    def ended(self, numbers: Iterable[int]) -> list[int]:
        """Some numbers, and that of the last batch: by then a snapshot is due that shows what the others gave."""
        return [*dict.fromkeys([*numbers, *(batch.number for batch in self.batches[-1:])])]

    def up_to(self, number: int) -> Landed:
        """What has landed up to and including a batch."""
        return Landed(tuple(batch for batch in self.batches if batch.number <= number))


class Judge:
    """Gives records the columns of a landing; the classification of a topic is planned once."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._batches: dict[tuple[Macro, ...], SmallBatches] = {}
        self._topics: set[str] = set()
        self._lock = Lock()  # cases run on threads

    def rows(self, topic: Topic, records: Sequence[_Record]) -> list[Row]:
        """The landed rows that records of a topic become."""
        with self._lock:
            batches = self._batches_for(topic)
            batches.begin(0, 1)  # a case is small, however many records it has
            rows = batches.fill("records", records, columns_of(_KAFKA)).frame
            return batches.compute(repr(topic), lambda: _landed_rows(topic, rows), rows).frame.collect()

    def clocks(self, project: Project, landing: Landing) -> Sequence[Clock]:
        """The clocks of a landing's watermarked columns; tables that views look up are empty."""

        def empty(session: SparkSession, ref: Input) -> DataFrame:
            if ref.table.startswith("bronze."):
                return bronze(no_rows(session, landing_schema()), project.topic(ref.table.split(".")[1])[1])
            return no_rows(session, verdict.schemas(self._spark, project)[ref.table])

        return clocks.clocks_of(self._spark, project, landing, empty)

    def _batches_for(self, topic: Topic) -> SmallBatches:
        if topic.macros not in self._batches:
            self._batches[topic.macros] = small_batches(child(self._spark, "judge", topic.macros))
        self._topics.add(repr(topic))
        if len(self._topics) > _PLANS:
            for each in self._batches.values():
                each.drop()
            self._topics = {repr(topic)}
        return self._batches[topic.macros]


def _landed_rows(topic: Topic, records: DataFrame) -> DataFrame:
    judged = classify(records, [topic], F.col("landed_at"))
    return judged.select(*[F.col(name).cast(ddl).alias(name) for name, ddl in LANDING_COLUMNS])


@dataclass
class LandingHistory:
    """What a landing has landed so far: the readings of its clocks, and the rows that these do not include yet."""

    judge: Judge
    project: Project
    landing: Landing
    _readings: dict[str, Reading] = field(default_factory=dict)
    _new: list[tuple[Row, ...]] = field(default_factory=list)

    def add(self, rows: tuple[Row, ...]) -> None:
        """Note a landing batch."""
        self._new.append(rows)

    def tick(self, arrival: Arrival) -> Row | None:
        """The row that only advances time, as the ingest query lands it; None before there is an event time."""
        if self._new:
            self._readings = later(self._readings, {**self._sources(), **self._clocks()})
            self._new.clear()
        if not self._readings:
            return None
        now, row = _local(arrival.landed_at), dict[str, Any](dict.fromkeys(name for name, _ in LANDING_COLUMNS))
        row |= {"landing_batch": arrival.number, "topic": TICK_TOPIC, "partition": 0, "offset": arrival.number}
        row |= {"value": readings_as_json(self._readings), "timestamp": now, "landed_at": now}
        moment = latest(self.landing, self._readings, arrival.landed_at)
        return Row(**{**row, "event_time": moment and _local(moment)})

    @cached_property
    def _of_columns(self) -> Sequence[Clock]:
        return self.judge.clocks(self.project, self.landing)

    def _sources(self) -> dict[str, Reading]:
        names = {topic.topic: source_key(topic.name) for topic in self.landing.topics}
        timed = [row for rows in self._new for row in rows if row.event_time is not None]
        found: dict[str, Reading] = {}
        for row in timed:
            found = later(found, {names[row.topic]: Reading(_micros(row.event_time), _micros(row.landed_at))})
        return found

    def _clocks(self) -> dict[str, Reading]:
        landed = clocks.Landed(
            [_micros(rows[0].landed_at) for rows in self._new],
            lambda session, start: _frame(session, [row for rows in self._new[start:] for row in rows]),
        )
        read = {clock.key: clock.read(landed) for clock in self._of_columns}
        return {key: reading for key, reading in read.items() if reading is not None}


def _frame(session: SparkSession, rows: Sequence[Row]) -> DataFrame:
    return frame_of_values(session, rows, landing_schema())


def _micros(moment: datetime) -> int:
    return micros(moment.astimezone(timezone.utc))


def land(judge: Judge, project: Project, given: Iterable[Batch], seeds: bool = False) -> Landed:
    """Classify records and cut them into landing batches; with `seeds` those of the project come first."""
    coming = tuple(arrivals(project, given, seeds))
    rows = {landing.name: _judged(judge, landing, coming) for landing in project.landings}
    histories = {landing.name: LandingHistory(judge, project, landing) for landing in project.landings}
    return Landed(tuple(batch for arrival in coming for batch in _batches(arrival, rows, histories)))


def _judged(judge: Judge, landing: Landing, coming: Iterable[Arrival]) -> list[Row]:
    found: list[Row] = []
    for topic in landing.topics:
        records = [_kafka(a, record) for a in coming for record in a.records if record.topic == topic.topic]
        found += judge.rows(topic, records) if records else []
    return found


def _kafka(arrival: Arrival, record: Sent) -> _Record:
    where = (record.topic, record.partition, record.offset, record.timestamp, _CREATE_TIME)
    return (record.key, record.value, *where, list(record.headers), arrival.number, arrival.landed_at)


def _batches(
    arrival: Arrival, rows: Mapping[str, list[Row]], histories: Mapping[str, LandingHistory]
) -> Iterable[LandedBatch]:
    for landing, landed in rows.items():
        found = tuple(row for row in landed if row.landing_batch == arrival.number)
        if found:
            histories[landing].add(found)
            yield LandedBatch(landing, arrival.number, found)
        elif not arrival.records and (tick := histories[landing].tick(arrival)):
            yield LandedBatch(landing, arrival.number, (tick,), is_tick=True)


def _local(moment: datetime) -> datetime:
    """As Spark returns times to Python: naive, in the local zone."""
    return moment.astimezone().replace(tzinfo=None)
