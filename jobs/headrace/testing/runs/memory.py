"""Runs a group without tables: the engine computes each micro-batch, and its rows are collected here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from random import Random

from pyspark.sql import DataFrame, Row, SparkSession

from headrace.landing.relations import bronze
from headrace.project.model import Input, Model, Project
from headrace.queries.group import Group
from headrace.queries.inputs import Inputs
from headrace.queries.outputs import AppendOutput, Output, UpsertOutput
from headrace.spark.binding import Binder
from headrace.spark.columns import landing_schema, no_rows
from headrace.spark.implementations import small_batches
from headrace.spark.materialized import Held, Materialized
from headrace.spark.session import child, tune
from headrace.spark.small_batches import SmallBatches
from headrace.tables.delta import CommitTable
from headrace.testing.cases.landing import Landed
from headrace.testing.cases.outcome import Outcome
from headrace.testing.cases.records import EPOCH
from headrace.testing.runs.cuts import Parts
from headrace.testing.runs.scope import Scope


def run_group(scope: Scope, parts: Parts, random: Random) -> Outcome:
    """Run the only query of a project, one micro-batch for each part."""
    (query,) = scope.project.queries
    group = scope.sandbox.query(scope.project, scope.sandbox.nowhere(), query)
    assert isinstance(group, Group)
    group.outputs.update({table: _without_past(group.batches, output) for table, output in group.outputs.items()})
    group.recover()
    added: dict[str, list[Held]] = {table: [] for table in scope.tables}
    lines: list[str] = []
    failed: list[Row] = []
    for batch, numbers in enumerate(parts):
        news = _news(scope.landed, numbers, random, group.takes_ticks)
        if not news:
            continue  # only ticks, and nothing waits: no micro-batch
        group.batches.begin(batch, 1)
        read = {name: group.batches.fill(name, rows, landing_schema()).frame for name, rows in news.items()}
        decided = group.decide(read, Inputs(batch))
        rows = {table: _held(group.batches, decided[table]) for table in scope.tables if decided[table].count}
        lines += group.lines(decided)
        apart = group.tests.set_aside(batch, EPOCH.isoformat())
        failed += apart.collect() if apart is not None else []
        group.settle(decided)
        for table, found in rows.items():
            added[table].append(found)
    stored = {table: group.batches.frame_of(found, group.outputs[table].table.schema) for table, found in added.items()}
    upserts = [
        output for table, output in group.outputs.items() if table in scope.tables and isinstance(output, UpsertOutput)
    ]
    states = {output.model.table: _copied(group.batches, output.before()) for output in upserts}
    scope.sandbox.release(group)
    return Outcome(stored, tuple(lines), states, failed=tuple(failed))


def run_view(scope: Scope, parts: Parts, model: Model, random: Random) -> Outcome:
    """Read a view over what lands, part by part."""
    project = scope.project
    session = child(scope.sandbox.spark, model.name, project.macros)
    tune(session, 1)
    batches = small_batches(session)
    found: list[Held] = []
    for numbers in parts:
        news = _news(scope.landed, numbers, random)
        rows = {name: batches.fill(name, landed, landing_schema()).frame for name, landed in news.items()}
        found.append(batches.hold(Binder(session, project, partial(_relation, session, project, rows)).run(model)))
    return Outcome({model.table: batches.frame_of(found, scope.sandbox.schemas(project)[model.table])})


class _Unwritten(CommitTable):
    """A table that does not exist."""

    def id(self) -> str:
        return "unwritten"

    def newest_version(self) -> int:
        return -1

    def snapshot(self, session: SparkSession, version: int | None = None) -> DataFrame:
        return self.no_rows(session)


def _without_past(batches: SmallBatches, output: Output) -> Output:
    table = _Unwritten(batches.session, output.table.path, output.table.schema)
    if isinstance(output, UpsertOutput):
        return UpsertOutput(batches, output.model, table, table.path, ())
    return AppendOutput(batches, output.model, table)


def _held(batches: SmallBatches, found: Materialized) -> Held:
    return found.held or batches.hold(found.frame)


def _copied(batches: SmallBatches, rows: DataFrame) -> DataFrame:
    """The rows as they are now: the next case has others in the same place."""
    return batches.frame_of([batches.hold(rows)], rows.schema)


def _news(landed: Landed, numbers: Sequence[int], random: Random, ticks: bool = False) -> Mapping[str, Sequence[Row]]:
    """The landed rows of each landing, in no order: models must not rely on one. Ticks alone count if `ticks`."""
    rows: dict[str, list[Row]] = {}
    for batch in landed.within(numbers):
        rows.setdefault(batch.landing, []).extend(batch.rows)
    news = {batch.landing for batch in landed.within(numbers) if ticks or not batch.is_tick}
    return {f"_landing.{name}": random.sample(found, len(found)) for name, found in rows.items() if name in news}


def _relation(session: SparkSession, project: Project, news: Mapping[str, DataFrame], ref: Input) -> DataFrame:
    landing, topic = project.topic(ref.table.split(".")[1])
    rows = news.get(f"_landing.{landing.name}")
    return bronze(no_rows(session, landing_schema()) if rows is None else rows, topic)
