"""The clocks of a landing: how far the event time of each source and of each watermarked column has got by its rows.

A clock is read from landed rows alone: the largest value of its column among them, and when that row landed. A tick
carries the readings of its landing, and moves each watermark from the reading of its own clock by the time since then.
So no watermark is moved by rows that its query does not read, nor ahead of its own largest value and the time that has
passed since. What cannot be read, as the SQL fails or no row has a value, does not move.

Ticks are landed rows: what they carry does not depend on how far a query has got, nor on how its batches are cut.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Any, NamedTuple

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from headrace.errors import HeadraceError
from headrace.landing.relations import bronze
from headrace.landing.ticks import Watermarked, watermarked
from headrace.project.model import TICK_TOPIC, Input, Landing, Model, Project
from headrace.project.sql.lexing import words
from headrace.spark.binding import Binder, arguments, inputs_of, macros_of, texts_of, view_of
from headrace.spark.session import child, tune
from headrace.store.commits import Commit
from headrace.tables.delta import CommitTable

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_NO_MOMENT = "cast(null as bigint)"
_FIRST_LOOK = 100
"""This many of the newest commits are read first, then ten times as many for the clocks that have no row there."""


class Reading(NamedTuple):
    """The largest value of a column, and when its row landed: microseconds since 1970."""

    value: int
    landed_at: int

    def at(self, moment: int) -> int:
        """What the clock shows later."""
        return self.value + moment - self.landed_at


@dataclass(frozen=True)
class Landed:
    """Landing batches in their order: when each landed, and the rows of all from one on, in a session."""

    moments: Sequence[int]
    rows: Callable[[SparkSession, int], DataFrame]


@dataclass(frozen=True)
class Clock:
    """The clock of a watermarked column; `others` gives the tables that lookups of its views need."""

    key: str
    session: SparkSession
    project: Project
    model: Model
    found: Watermarked
    others: Callable[[SparkSession, Input], DataFrame]

    def read(self, landed: Landed) -> Reading | None:
        """The largest value among landed rows."""
        try:
            return self._read(landed)
        except (PySparkException, HeadraceError, OSError):
            # The query fails on it too, and reports it: no model's SQL, nor a missing table, may stop a landing.
            return None

    def _read(self, landed: Landed) -> Reading | None:
        largest, landed_at = self._largest(landed, 0)
        if largest is None:
            return None
        return Reading(largest, self._moment(landed, largest) if landed_at is None else landed_at)

    def _moment(self, landed: Landed, largest: int) -> int:
        """When the newest row with this value landed, by binary search: a view may leave out the time of landing."""
        first, last = 0, len(landed.moments) - 1
        while first < last:
            middle = (first + last + 1) // 2
            is_there = self._largest(landed, middle)[0] == largest
            first, last = (middle, last) if is_there else (first, middle - 1)
        return landed.moments[first]

    def _largest(self, landed: Landed, start: int) -> tuple[int | None, int | None]:
        rows = self._rows(landed.rows(self.session, start))
        rows.createOrReplaceTempView("_clocked")
        has_time = dict(rows.dtypes).get("landed_at") == "timestamp"
        pair = f"unix_micros({self.found.expression}) as value, {'unix_micros(landed_at)' if has_time else _NO_MOMENT}"
        sql = f"select max(struct({pair} as moment)) as m from _clocked"
        row: Any = self.session.sql(sql, args=arguments(self.project, self.model, sql)).select("m.*").first()
        return row.value, row.moment

    def _rows(self, landed: DataFrame) -> DataFrame:
        def resolve(ref: Input) -> DataFrame:
            if ref.stream and ref.table.startswith("bronze."):
                return bronze(landed, self.project.topic(ref.table.split(".")[1])[1])
            return self.others(self.session, ref)

        return Binder(self.session, self.project, resolve).frame(self.found.ref)


def clocks_of(
    spark: SparkSession, project: Project, landing: Landing, others: Callable[[SparkSession, Input], DataFrame]
) -> tuple[Clock, ...]:
    """The clocks of a landing's watermarked columns, but for those that are the event time of a source."""
    known = {source_key(topic.name) for topic in landing.topics}
    found: dict[str, Clock] = {}
    session: SparkSession | None = None
    for model in (model for query in project.queries if query.engine == "streaming" for model in query.models):
        for each in watermarked(model):
            key = key_of(project, each)
            if key not in known and key not in found and _is_of(project, landing, each.ref):
                session = session or _session(spark, project, landing)
                found[key] = Clock(key, session, project, model, each, others)
    return tuple(found.values())


def _session(spark: SparkSession, project: Project, landing: Landing) -> SparkSession:
    session = child(spark, landing.query, project.macros)
    tune(session, 1)
    return session


def _is_of(project: Project, landing: Landing, ref: Input) -> bool:
    """Whether a reference streams nothing but sources, the first of which lands here."""
    view = view_of(project, ref)
    streamed = [read.table for read in inputs_of(project, view) if read.stream] if view else [ref.table]
    if not streamed or not all(table.startswith("bronze.") for table in streamed):
        return False
    return project.topic(streamed[0].split(".")[1])[0].name == landing.name


def source_key(source: str) -> str:
    """What the clock of a source's event time is called in a tick."""
    return f"bronze.{source}:event_time"


def key_of(project: Project, found: Watermarked) -> str:
    """What the clock of a watermarked column is called in a tick; of one that SQL computes, each text has its own.

    Comments and line breaks do not count: what ticks said by the same SQL holds, also where a model is rebuilt.
    """
    key, view = f"{found.ref.table}:{' '.join(found.expression.split())}", view_of(project, found.ref)
    if view is None:
        return key
    texts = [words(text) for text in (*texts_of(project, [view]), *(each.text for each in macros_of(project, [view])))]
    values = {name: project.vars.get(name) for model in _views(project, view) for name in model.parameters}
    return f"{key}:{hashlib.sha256(repr((texts, sorted(values.items()))).encode()).hexdigest()[:8]}"


def _views(project: Project, view: Model) -> Iterator[Model]:
    yield view
    for inner in filter(None, (view_of(project, ref) for ref in view.inputs)):
        yield from _views(project, inner)


def readings_as_json(readings: Mapping[str, Reading]) -> str:
    """Readings as a tick carries them."""
    return json.dumps(readings)


def latest(landing: Landing, readings: Mapping[str, Reading], moment: datetime) -> datetime | None:
    """The largest event time of all sources at a moment."""
    keys = [source_key(topic.name) for topic in landing.topics]
    shown = [readings[key].at(micros(moment)) for key in keys if key in readings]
    return time_of(max(shown)) if shown else None


def later(one: Mapping[str, Reading], other: Mapping[str, Reading]) -> dict[str, Reading]:
    """The larger of the readings of each clock; of equal values the one that landed last."""
    keys = {**one, **other}
    return {key: max(each[key] for each in (one, other) if key in each) for key in keys}


@dataclass
class LandingClocks:
    """The readings of a landing's clocks, brought up to date from what has landed since the last time.

    Of many commits it looks only as far back as to find each clock once. A reading of newer rows alone may be less
    than that of all, but never ahead of it: its row landed later.
    """

    table: CommitTable
    landing: Landing
    clocks: tuple[Clock, ...] = ()
    readings: dict[str, Reading] = field(default_factory=dict)
    _done: int = -1

    def update(self) -> Mapping[str, Reading]:
        """Read what is new."""
        newest, known = self.table.newest_version(), self._done
        until, count, missing = newest + 1, _FIRST_LOOK, {*self._keys}
        while until > known + 1 and missing:
            start = max(until - count, known + 1)
            found = self._read(map(self.table.commit, range(start, until)), missing)
            self.readings |= later(self.readings, found) if start == known + 1 else found
            missing -= found.keys()
            until, count = start, count * 10
        self._done = newest
        return self.readings

    @property
    def _keys(self) -> list[str]:
        return [*(source_key(topic.name) for topic in self.landing.topics), *(clock.key for clock in self.clocks)]

    def _read(self, commits: Iterable[Commit], keys: set[str]) -> dict[str, Reading]:
        batches = [commit for commit in commits if commit.has_rows and commit.added_rows]
        if not batches:
            return {}
        landed = Landed(
            [_micros_of(commit) for commit in batches],
            lambda session, start: self.table.rows(session, *batches[start:]),
        )
        found = {key: reading for key, reading in self._sources(landed).items() if key in keys}
        read = {clock.key: clock.read(landed) for clock in self.clocks if clock.key in keys}
        return found | {key: reading for key, reading in read.items() if reading is not None}

    def _sources(self, landed: Landed) -> dict[str, Reading]:
        """The event time of each source, in one go."""
        largest = F.expr("max(struct(unix_micros(event_time) as value, unix_micros(landed_at) as moment))")
        rows = landed.rows(self.table.spark, 0).where("event_time is not null").where(F.col("topic") != TICK_TOPIC)
        names = {topic.topic: topic.name for topic in self.landing.topics}
        found = rows.groupBy("topic").agg(largest.alias("m")).collect()
        return {source_key(names[row.topic]): Reading(*row.m) for row in found if row.topic in names}


def micros(moment: datetime) -> int:
    """A time in microseconds since 1970."""
    return (moment - _EPOCH) // timedelta(microseconds=1)


def time_of(value: int) -> datetime:
    """The time so many microseconds after the beginning of 1970."""
    return _EPOCH + timedelta(microseconds=value)


def _micros_of(commit: Commit) -> int:
    return micros(datetime.fromisoformat(commit.marker["landed_at"]))
