"""Landing: all new records of a domain's topics become one commit of its landing table, exactly once."""

from __future__ import annotations

import math
import threading
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from confluent_kafka import KafkaError, KafkaException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from headrace.errors import HeadraceError
from headrace.landing import seeds
from headrace.landing.broker_admin import BrokerAdmin, Offsets
from headrace.landing.clocks import LandingClocks, latest, readings_as_json
from headrace.landing.judging import Judge, Moment
from headrace.landing.landing_time import LandingTime
from headrace.landing.records import SCHEMA, Ranges, RecordReader, has_overflown
from headrace.landing.starts import StartOffsets
from headrace.landing.topics import Partitions, Topics
from headrace.project.model import (
    LANDING_COLUMNS,
    TICK_TOPIC,
    InputBounds,
    Kafka,
    Landing,
)
from headrace.reading.replays import LAST, last_of
from headrace.reading.topics import client_options
from headrace.spark.columns import landing_schema
from headrace.spark.implementations import small_batches
from headrace.spark.materialized import Materialized
from headrace.spark.session import SMALL_BATCH_ROWS, child
from headrace.store.layout import Layout
from headrace.tables.commit_cache import CommitCache, SharedRows
from headrace.tables.delta import CommitTable
from headrace.tables.positions import beyond_topic

_DEFAULTS = {
    "kafka.isolation.level": "read_committed",
    # At its default of 500 ms, every small batch waits half a second for records that do not come.
    "kafka.fetch.max.wait.ms": "20",
    # With the client's 500, Spark's consumer asks where it stands after each of them.
    "kafka.max.poll.records": "5000",
}


@dataclass(frozen=True)
class LandingReport:
    """What one landing batch did."""

    batch: int
    version: int
    records: int
    rejected: int

    def after(self, first: LandingReport | None) -> LandingReport:
        """This batch, added to an earlier one that is not reported yet."""
        if first is None:
            return self
        return replace(self, records=self.records + first.records, rejected=self.rejected + first.rejected)


@dataclass(frozen=True)
class KafkaSource:
    """How to read: Spark's options (`kafka.*`), the client's own, and whether only committed records count."""

    spark_options: Mapping[str, str]
    client_config: Mapping[str, Any]
    committed: bool = True

    @classmethod
    def of(cls, kafka: Kafka, group: str) -> KafkaSource:
        """The target's client properties, passed through, over defaults that suit small batches."""
        configured = {f"kafka.{name}": value for name, value in kafka.options.items()}
        options = {**_DEFAULTS, "kafka.bootstrap.servers": kafka.bootstrap, "kafka.group.id": group, **configured}
        return cls(options, client_options(kafka), options["kafka.isolation.level"] == "read_committed")


class LandingQuery:
    """The ingest query of one domain.

    How far each partition has been read is written in the same commit as the rows, so data and progress can never
    disagree, whatever is killed when. Only this object writes the table; ticks go through it as well.
    """

    def __init__(
        self,
        spark: SparkSession,
        layout: Layout,
        landing: Landing,
        kafka: KafkaSource,
        bounds: InputBounds | None = None,
        commit_cache: CommitCache | None = None,
    ) -> None:
        self.landing = landing
        self._commit_cache = commit_cache or CommitCache()
        self.session = child(spark, landing.query, landing.macros)
        self._batches = small_batches(self.session)
        self.table = CommitTable(self.session, layout.landing(landing.name), landing_schema())
        self._kafka = kafka
        self._records = RecordReader(self.session, kafka.spark_options, kafka.client_config)
        self._bounds = bounds or InputBounds()
        self._total = 0
        self._last_replay = -1
        self._admin = BrokerAdmin(kafka.client_config)
        self._starts = StartOffsets(layout.checkpoint(landing.query), self._admin, self._bounds.start, kafka.committed)
        self._topics = Topics(self._admin, landing.query, [topic.topic for topic in landing.topics])
        self._done: Offsets = {}
        self._seeds = seeds.SeedFiles(self.table, landing.topics)
        self._first: LandingReport | None = None
        self.time = LandingTime()
        self._asked_at = self.time.read()
        self._batch = 0
        self._ready = False
        self._judge = Judge(self._batches, landing.topics)
        self.clocks = LandingClocks(self.table, landing)
        self.lag: int | None = None
        self._asked_for: Partitions | None = None
        self._writing = threading.Lock()

    def step(self, max_rows: int, upto: Offsets | None = None) -> LandingReport | None:
        """Land what is new, at most `max_rows` records and not beyond `upto`; None when there is nothing.

        Rows that come with the project, and are new or changed, are a batch of their own before that.
        """
        if not self._ready:
            self._recover()
        self._land_seeds()
        ends = upto or self.ends()
        self._refuse_shorter(ends)
        ranges = self._new(max_rows, ends)
        report = self._land(ranges) if ranges else None
        first, self._first = self._first, None
        return first if report is None else report.after(first)

    def seed(self) -> None:
        """Land what is due of the rows that come with the project; the next step reports it."""
        if self._ready:  # else the first step reports what is wrong, and lands them once it is fixed
            self._land_seeds()

    def _new(self, max_rows: int, ends: Offsets) -> Ranges:
        behind = {
            (topic, p): (self._next(topic, p), end)
            for topic, offsets in ends.items()
            for p, end in offsets.items()
            if end > self._next(topic, p)
        }
        self.lag = sum(end - start for start, end in behind.values())
        if self._bounds.max_records is not None:
            max_rows = min(max_rows, self._bounds.max_records - self._total)
            self.lag = min(self.lag, max(max_rows, 0))
        return _share(behind, max_rows) if max_rows > 0 else {}

    def _refuse_shorter(self, ends: Offsets) -> None:
        """Refuse a topic that ends before what was read of it; a transaction that is open is no reason."""
        beyond = [(t, p) for t, offsets in ends.items() for p, end in offsets.items() if self._next(t, p) > end]
        if not beyond:
            return
        self._topics.partitions()  # a topic that was made again is refused as such
        now = self._admin.ends({topic: [p for t, p in beyond if t == topic] for topic, _ in beyond}, committed=False)
        for topic, p in beyond:
            if (read := self._next(topic, p)) > now[topic][p]:
                raise HeadraceError(beyond_topic(self.landing.query, topic, p, read, now[topic][p]))

    def settle(self) -> None:
        """Decide where topics begin that were never read: what is sent from now on is read, whatever dies when."""
        try:
            if not self._ready:
                self._recover()
        finally:
            if not self._ready:
                self._topics.ids = {}  # the first step finds again what is wrong with a topic, and reports it

    def ends(self) -> Offsets:
        """How far the topics go now; what lands from here on, ticks included, is as of the moment of asking."""
        asked_at = self.time.read()
        try:
            ends = self._ends_of(self._topics.recent_partitions())
        except KafkaException as error:
            if error.args[0].code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
                raise
            ends = self._ends_of(self._topics.partitions())  # a topic has gone meanwhile
        self._asked_at = asked_at
        return ends

    def _ends_of(self, partitions: Partitions) -> Offsets:
        self._asked_for = partitions
        return self._admin.ends(partitions, self._kafka.committed)

    def behind(self, ends: Offsets) -> int:
        """How many offsets are left to read up to `ends`."""
        return sum(max(end - self._next(t, p), 0) for t, offsets in ends.items() for p, end in offsets.items())

    def forget(self) -> None:
        """Drop what is cached; the next step starts from what the table says."""
        self._ready = False
        self._records.close()
        self._batches.drop()

    @property
    def gone(self) -> frozenset[str]:
        """Topics that were read and are not there any more: how far this is behind them is unknown."""
        return frozenset(name for name in self._topics.missing if self._done.get(name))

    @property
    def progress(self) -> Mapping[str, int]:
        """How many offsets of each topic have been read."""
        return {topic: sum(offsets.values()) for topic, offsets in self._done.items()}

    def tick(self, sources: Sequence[str] | None = None) -> LandingReport | None:
        """Land a row that only makes time pass: it says what each clock of the landing shows now.

        Time passes for all sources of the landing, or for those that are named. To be called only once all that Kafka
        held when it was asked has landed. There is none before there is an event time, or while there are partitions
        that Kafka was not asked for.
        """
        if not self._ready:
            self._recover()
        elif self._asked_for not in (None, self._topics.partitions()):
            return None
        readings = self.clocks.update()
        if not readings:
            return None
        moment = Moment(self._batch, self._now())
        row: dict[str, Any] = {name: None for name, _ in LANDING_COLUMNS}
        row |= {"landing_batch": moment.batch, "topic": TICK_TOPIC, "partition": 0, "offset": moment.batch}
        row |= {"key": None if sources is None else ",".join(sources), "value": readings_as_json(readings)}
        row |= {"timestamp": moment.landed_at, "landed_at": moment.landed_at}
        row["event_time"] = latest(self.landing, readings, moment.landed_at)
        self._batches.begin(moment.batch, 1)
        landed = self._batches.fill("tick", [tuple(row.values())], landing_schema())
        return self._append(landed, moment, 0, self._done, is_tick=True)

    def _recover(self) -> None:
        """Take up where the newest commit says; a topic not read before starts where it is declared to."""
        newest = self.table.newest_marker(self.landing.query)
        marker = newest.marker if newest else {}
        self._batch = int(marker.get("batch", -1)) + 1
        self._done = {t: {int(p): o for p, o in offsets.items()} for t, offsets in marker.get("offsets", {}).items()}
        self._topics.ids = dict(marker.get("ids", {}))
        self._seeds.recover(marker)
        if "landed_at" in marker:
            self.time.note(datetime.fromisoformat(marker["landed_at"]))
        self._total = int(marker.get("total", 0))
        self._last_replay = last_of(newest.version, marker) if newest else -1
        partitions = self._topics.partitions()
        for topic in self.landing.topics:
            if topic.topic not in self._done:
                topic_id, numbers = self._topics.ids.get(topic.topic, ""), partitions.get(topic.topic, ())
                self._done[topic.topic] = self._starts.of(topic, topic_id, numbers)
        self._ready = True

    def _next(self, topic: str, partition: int) -> int:
        """Partitions that appear later are read from their beginning."""
        return self._done.get(topic, {}).get(partition, 0)

    def _now(self) -> datetime:
        """The landing time of the next batch: never before that of the last one, whatever the clock does.

        It is the moment before Kafka was asked for its ends. What is sent later is not in the batch, so a batch that
        claimed a later time would let a deadline pass that such a record has met.
        """
        return max(self._asked_at, self.time.newest)

    def _land_seeds(self) -> None:
        """Land the lines of seed files that differ from what has landed of them, as a batch."""
        if lines := self._seeds.take():
            moment = Moment(self._batch, self._now())
            self._first = self._land_records(seeds.records(lines, moment.landed_at), moment, self._done)

    def _land(self, ranges: Ranges) -> LandingReport:
        moment = Moment(self._batch, self._now())
        records = sum(end - start for start, end in ranges.values())
        done = {t: dict(offsets) for t, offsets in self._done.items()}
        for (topic, p), (_, end) in ranges.items():
            done.setdefault(topic, {})[p] = end
        self._batches.begin(moment.batch, records)
        fetched = self._records.few(ranges) if self._batches.are_few else None
        if fetched is not None:
            return self._land_records(fetched, moment, done)
        self._batches.begin(moment.batch, max(records, SMALL_BATCH_ROWS + 1))  # few large ones are as many
        try:
            return self._land_many(self._records.many(ranges), {topic for topic, _ in ranges}, moment, done)
        except Exception as error:
            fewer = _share(ranges, min(SMALL_BATCH_ROWS, records // 2))  # which the driver's client reads
            if fewer == ranges or not has_overflown(error):
                raise
            return self._land(fewer)

    def _land_records(self, fetched: Sequence[Sequence[Any]], moment: Moment, done: Offsets) -> LandingReport:
        """Land records that are here already."""
        self._batches.begin(moment.batch, len(fetched))
        if not self._batches.are_few:
            records = self._batches.fill("records", fetched, SCHEMA).frame
            return self._land_many(records, {topic.topic for topic in self.landing.topics}, moment, done)
        landed = self._judge.few(fetched, moment)
        return self._append(landed, moment, landed.count, done)  # offsets that end transactions are no records

    def _land_many(self, records: DataFrame, read: Collection[str], moment: Moment, done: Offsets) -> LandingReport:
        landed = SharedRows.of(self._judge.many(records, read, moment), self.table.schema.names)
        return self._append(landed, moment, landed.count, done)

    def _append(
        self, landed: Materialized, moment: Moment, records: int, done: Offsets, is_tick: bool = False
    ) -> LandingReport:
        with self._writing:
            if not is_tick:
                self._topics.partitions()  # a topic that was made again while it was read is refused, not landed
            rejected = self._rejected(landed) if records else 0
            marker = {
                "query": self.landing.query,
                "batch": moment.batch,
                "landed_at": moment.landed_at.isoformat(),
                "offsets": done,
                "ids": self._topics.ids,
                "seeded": self._seeds.landed,
                "records": records,
                "total": self._total + records,
                "tick": is_tick,
                "rejected": rejected,
                LAST: self._last_replay,
            }
            version = self.table.append(landed, marker)
            self._commit_cache.put(self.table.path, version, landed)
            landed.release()
            self._done, self._batch = done, moment.batch + 1
            self.time.note(moment.landed_at)
            self._total += records
            return LandingReport(moment.batch, version, records, rejected)

    def _rejected(self, landed: Materialized) -> int:
        if not self._batches.are_few:
            return landed.count_where("reject_reason is not null")
        rows = landed.frame
        return int(self._batches.text("rejected", lambda: rows.select(F.count("reject_reason").cast("string")), rows))


def _share(behind: Mapping[tuple[str, int], tuple[int, int]], max_rows: int) -> dict[tuple[str, int], tuple[int, int]]:
    """Cut ranges so that together they hold at most about `max_rows`, each in proportion to what it is behind."""
    total = sum(end - start for start, end in behind.values())
    if total <= max_rows:
        return dict(behind)
    return {
        at: (start, min(end, start + math.ceil((end - start) * max_rows / total)))
        for at, (start, end) in behind.items()
    }
