"""A model whose whole result is added every few seconds, as the tables it reads stand at that moment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from headrace.project.model import Input, Model, Project, Query
from headrace.queries.inputs import InputLog, Inputs
from headrace.queries.sources import Tables, plain, source_name, stored
from headrace.spark.binding import Binder, at_moment, stored_inputs
from headrace.spark.failures import ModelFailed
from headrace.spark.implementations import materialize, small_batches
from headrace.spark.materialized import with_batch
from headrace.spark.session import child, tune
from headrace.store.layout import Layout
from headrace.tables.commit_cache import CommitCache
from headrace.tables.delta import CommitTable


@dataclass(frozen=True)
class SnapshotReport:
    """One snapshot that was taken."""

    batch: int
    taken_at: datetime
    rows: int


class SnapshotQuery:
    """One snapshot model and its table.

    A snapshot is recorded before it is taken: its moment and the version of each table. What a previous run has
    recorded but not committed is taken first, from the same versions and with the same moment, so none is doubled.
    """

    def __init__(
        self, spark: SparkSession, project: Project, layout: Layout, query: Query, schemas: Mapping[str, StructType]
    ) -> None:
        (self.model,) = query.models
        self.session = child(spark, query.name, project.macros)
        self.table: CommitTable = stored(self.session, layout, self.model, schemas[self.model.table])
        self.outputs = (self.model.table,)
        self._project = project
        self._every = _every(project, self.model)
        self._inputs = InputLog(layout.checkpoint(query.name))
        self._tables = Tables(self.session, project, layout, schemas)
        self._refs = {ref.table: ref for ref in stored_inputs(project, query)}
        self._sources = {name: self._tables.of(ref) for name, ref in self._refs.items()}
        self.sources = {source_name(project, ref) for ref in self._refs.values()}
        batches = small_batches(self.session)
        self._lookups = {name: self._tables.lookup(batches, plain(name)) for name in self._refs}
        self._next = 0
        self._due: datetime | None = None

    def create_tables(self) -> None:
        """Create what this query writes, so that readers find a table before the first row."""
        self.table.create()

    def step(self, now: datetime, is_last: bool = False) -> SnapshotReport | None:
        """Take the snapshot that a previous run began, else the one that is due, or the last one; None if none is."""
        try:
            if self._due is None:
                begun = self._recover(now)
                if begun:
                    return self._take(begun)
            self._due = within(self._due, now, self._pause)
            if self._every is None or not (is_last or self.seconds_left(now) <= 0):
                return None
            self._plan_next(now)
            return self._take(self._recorded(now))
        except BaseException:
            self.drop()
            raise

    def seconds_left(self, now: datetime) -> float:
        """In how many seconds the next snapshot is due, as far as is known yet."""
        return (self._due - now).total_seconds() if self._due else 0.0

    def drop(self) -> None:
        """Forget what is cached; the next step starts from the tables."""
        self._due = None
        for lookup in filter(None, self._lookups.values()):
            lookup.drop()

    def _recover(self, now: datetime) -> Inputs | None:
        """Find out where to go on; the inputs of a snapshot that was begun and not committed, if there is one."""
        newest = self.table.newest_marker(self.model.name)
        committed = [Inputs.from_json(newest.marker["inputs"])] if newest else []
        last = max([*committed, *filter(None, [self._inputs.newest()])], key=lambda inputs: inputs.batch, default=None)
        self._next, self._due = 0, now
        if last is None:
            return None
        self._next, self._due = last.batch + 1, within(_moment(last) + self._pause, now, self._pause)
        is_done = newest is not None and newest.batch == last.batch
        # Versions of a table that was reset meanwhile mean something else: what was begun over it is void.
        return None if is_done or last.ids != self._ids() else last

    def _plan_next(self, now: datetime) -> None:
        """Count from when this snapshot was due, so that being late does not add up."""
        due = (self._due or now) + self._pause
        self._due = due if due > now else now + self._pause

    @property
    def _pause(self) -> timedelta:
        return timedelta(seconds=self._every or 0)

    def _recorded(self, now: datetime) -> Inputs:
        versions = {name: source.sound_version() for name, source in self._sources.items()}
        inputs = Inputs(self._next, snapshots=versions, at=now.isoformat(), ids=self._ids())
        self._inputs.record(inputs)
        self._next += 1
        return inputs

    def _ids(self) -> Mapping[str, str]:
        return {name: source.id() for name, source in self._sources.items() if source.newest_version() >= 0}

    def _take(self, inputs: Inputs) -> SnapshotReport:
        project = at_moment(self._project, _moment(inputs))
        binder = Binder(self.session, project, lambda ref: self._rows(ref, inputs.snapshots[ref.table]))
        try:
            rows = materialize(with_batch(binder.run(self.model), inputs.batch))
        except Exception as error:
            raise ModelFailed(self.model.table, self.model.path, error) from error
        if rows.count:
            marker = {"query": self.model.query, "batch": inputs.batch, "inputs": inputs.to_json(), "rows": rows.count}
            self.table.append(rows.frame.coalesce(1), marker)
        rows.release()
        return SnapshotReport(inputs.batch, _moment(inputs), rows.count)

    def _rows(self, ref: Input, version: int) -> DataFrame:
        lookup = self._lookups[ref.table]
        if lookup is None or ref.versions:
            return self._tables.as_of(ref, version)
        tune(self.session, lookup.weight(version))
        return lookup.as_of(version, CommitCache())


def within(due: datetime | None, now: datetime, pause: timedelta) -> datetime:
    """When the next snapshot is due, a pause from now at most: the clock by which it was planned may be put back."""
    return now if due is None else min(due, now + pause)


def _every(project: Project, model: Model) -> float | None:
    """Seconds between two snapshots; None where there are to be none."""
    seconds = project.vars[model.every] if isinstance(model.every, str) else model.every
    return None if seconds is None else float(seconds)


def _moment(inputs: Inputs) -> datetime:
    return datetime.fromisoformat(inputs.at).astimezone(timezone.utc)
