"""Rejected rows judged again by today's declaration: what is usable now lands as a new arrival, each row once.

Kafka is not asked: bronze has kept all of a record. Rows that land again and the list of them are one commit, so a run
that dies leaves both or neither, and the next one goes on with the rest. The original stays, rejected as it was.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.functions import lit

from headrace.errors import HeadraceError
from headrace.landing.classify import as_it_came, classify
from headrace.project.model import LANDING_COLUMNS, Landing
from headrace.reading.dead_letters import Chosen
from headrace.reading.replays import LANDED_AGAIN, LAST, Rejected, last_of, replayed
from headrace.spark.arrow import frame_of_values
from headrace.spark.columns import columns_of, landing_schema
from headrace.spark.implementations import materialize
from headrace.spark.session import SMALL_BATCH_ROWS, child, tune
from headrace.store.commits import Commit
from headrace.store.layout import Layout
from headrace.tables.delta import CommitTable

AT_ONCE = 10_000
"""At most this many rows land again in one commit, which lists them."""

_PLACE = ("landing_batch", "topic", "partition", "offset")
_KINDS = {name: ddl for name, ddl in LANDING_COLUMNS if name in _PLACE}


@dataclass(frozen=True)
class Replayed:
    """How many rows landed again, and how many are still refused, by reason."""

    landed: int = 0
    refused: Mapping[str, int] = field(default_factory=dict)

    def plus(self, other: Replayed) -> Replayed:
        """Both together."""
        return Replayed(self.landed + other.landed, Counter(self.refused) + Counter(other.refused))


class Replay:
    """The rejected rows of one landing; the runner's lock must be held, as nobody else may write the table."""

    def __init__(self, spark: SparkSession, layout: Layout, landing: Landing) -> None:
        self.landing = landing
        self.session = child(spark, f"replay_{landing.name}", landing.macros)
        self.table = CommitTable(self.session, layout.landing(landing.name), landing_schema())

    def run(self, chosen: Chosen) -> Replayed:
        """Judge all rows that are meant and have not landed again; land those that are usable now."""
        newest = self.table.newest_marker(self.landing.query)
        topics = [topic for topic in self.landing.topics if chosen.has(topic)]
        if newest is None or not topics:
            return Replayed()
        tune(self.session, SMALL_BATCH_ROWS + 1)
        moment = moment_after(newest)
        rejected = self._rejected(chosen, [topic.topic for topic in topics])
        judged = materialize(_judged(rejected, self.landing, moment))
        refused = judged.frame.where("reject_reason is not null").groupBy("reject_reason").count().collect()
        landed = self._land_all(judged.frame.where("reject_reason is null"), newest)
        judged.release()
        return Replayed(landed, {reason: number for reason, number in refused})

    def _rejected(self, chosen: Chosen, topics: list[str]) -> DataFrame:
        rows = self.table.snapshot(self.session).where("reject_reason is not null")
        rows = rows.where(F.col("topic").isin(topics))
        rows = rows if chosen.reason is None else rows.where(F.col("reject_reason") == chosen.reason)
        done = [row[:4] for row in replayed(self.table.path)]
        if not done:
            return rows
        known = frame_of_values(self.session, done, columns_of(_KINDS))
        return rows.join(known, [*_PLACE], "left_anti")

    def _land_all(self, usable: DataFrame, newest: Commit) -> int:
        places = [tuple(row) for row in usable.select(*_PLACE, "_former_reason").orderBy(*_PLACE).collect()]
        for start in range(0, len(places), AT_ONCE):
            newest = self._land(usable, places[start : start + AT_ONCE], newest)
        return len(places)

    def _land(self, usable: DataFrame, places: list[Rejected], newest: Commit) -> Commit:
        """One commit, which takes over from the one before all that it says of Kafka."""
        marker = {**marker_after(newest), "records": len(places), LANDED_AGAIN: places}
        first, last = (_place(place) for place in (places[0], places[-1]))
        rows = usable.where(F.struct(*_PLACE).between(first, last)).withColumn("landing_batch", lit(marker["batch"]))
        columns = [F.col(name).cast(ddl).alias(name) for name, ddl in LANDING_COLUMNS]
        found = materialize(rows.select(*columns))
        if found.count != len(places):
            raise HeadraceError(f"{self.table.path}: {found.count} rows where {len(places)} were to land again")
        version = self.table.append(found, marker)
        found.release()
        return Commit(version, marker)


def _place(place: Rejected) -> Column:
    return F.struct(*[lit(value).cast(_KINDS[name]).alias(name) for name, value in zip(_PLACE, place[:4], strict=True)])


def marker_after(newest: Commit) -> dict[str, Any]:
    """The marker of a landing's next commit that lands nothing from Kafka; it takes over all that is said of Kafka."""
    former = {name: value for name, value in newest.marker.items() if name != LANDED_AGAIN}
    number = {"batch": newest.batch + 1, "landed_at": moment_after(newest).isoformat()}
    return {
        **former,
        **number,
        "records": 0,
        "rejected": 0,
        "tick": False,
        LAST: last_of(newest.version, newest.marker),
    }


def moment_after(newest: Commit) -> datetime:
    """The moment of the last landing: Kafka is not asked, so no later time may be claimed to have passed."""
    landed_at = newest.marker.get("landed_at")
    return datetime.fromisoformat(landed_at) if landed_at else datetime.now(timezone.utc)


def _judged(rejected: DataFrame, landing: Landing, moment: datetime) -> DataFrame:
    """The rows as today's declaration sees them, and why they were rejected before."""
    came = {column: F.expr(as_it_came(column)) for column in ("key", "value")}
    records = rejected.withColumn("_former_reason", F.col("reject_reason")).withColumns(came)
    return classify(records, landing.topics, moment)


def total(found: Iterable[Replayed]) -> Replayed:
    """All of them together."""
    result = Replayed()
    for each in found:
        result = result.plus(each)
    return result


def run(spark: SparkSession, layout: Layout, landings: Iterable[Landing], chosen: Chosen) -> Iterator[Replayed]:
    """Replay landing after landing."""
    for landing in landings:
        yield Replay(spark, layout, landing).run(chosen)
