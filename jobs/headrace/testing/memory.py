"""A group run without tables: the engine decides each micro-batch, and what it adds is kept here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from random import Random

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.types import StructType

from headrace.engine.binding import Binder
from headrace.engine.columns import landing_schema
from headrace.engine.delta import CommitTable
from headrace.engine.group import Group
from headrace.engine.inputs import Inputs
from headrace.engine.kept import Plans
from headrace.engine.outputs import AppendOutput, Output, UpsertOutput
from headrace.engine.relations import bronze
from headrace.engine.session import child, tune
from headrace.layout import Layout
from headrace.project.model import Input, Model, Project
from headrace.testing.cuts import Parts
from headrace.testing.landed import Landed
from headrace.testing.outcome import Outcome
from headrace.testing.records import EPOCH
from headrace.testing.scope import Scope


def run_group(scope: Scope, parts: Parts, random: Random) -> Outcome:
    """Run the only query of a project, one micro-batch for each part."""
    (query,) = scope.project.queries
    group = scope.sandbox.query(scope.project, Layout(scope.project.target.data_dir), query)
    assert isinstance(group, Group)
    group.outputs.update({table: _without_past(group.plans, output) for table, output in group.outputs.items()})
    group.recover()
    added: dict[str, list[Row]] = {table: [] for table in scope.tables}
    lines: list[str] = []
    failed: list[Row] = []
    for batch, numbers in enumerate(parts):
        frames = _frames(group.session, scope.landed, numbers, random, group.takes_ticks)
        if not frames:
            continue  # only ticks, and nothing waits: no micro-batch
        group.plans.begin(batch, 1)
        read = {name: _taken(group.plans, name, rows) for name, rows in frames.items()}
        decided = group.decide(read, Inputs(batch))
        rows = {table: decided[table].frame.collect() for table in scope.tables}
        lines += group.lines(decided)
        apart = group.tests.set_aside(batch, EPOCH.isoformat())
        failed += apart.collect() if apart is not None else []
        group.settle(decided)
        for table, found in added.items():
            found += rows[table]
    stored = {table: _frame(group.session, rows, group.outputs[table].table.schema) for table, rows in added.items()}
    upserts = [
        output for table, output in group.outputs.items() if table in scope.tables and isinstance(output, UpsertOutput)
    ]
    states = {output.model.table: _copied(output.before()) for output in upserts}
    scope.sandbox.release(group)
    return Outcome(stored, tuple(lines), states, failed=tuple(failed))


def run_view(scope: Scope, parts: Parts, model: Model, random: Random) -> Outcome:
    """Read a view over what lands, part by part."""
    project = scope.project
    session, rows = child(scope.sandbox.spark, model.name, project.macros), list[Row]()
    tune(session, 1)
    for numbers in parts:
        frames = _frames(session, scope.landed, numbers, random)
        rows += Binder(session, project, partial(_relation, session, project, frames)).run(model).collect()
    return Outcome({model.table: _frame(session, rows, scope.sandbox.schemas(project)[model.table])})


class _Unwritten(CommitTable):
    """A table that does not exist."""

    def newest_version(self) -> int:
        return -1

    def snapshot(self, session: SparkSession, version: int | None = None) -> DataFrame:
        return self.no_rows(session)


def _without_past(plans: Plans, output: Output) -> Output:
    table = _Unwritten(plans.session, output.table.path, output.table.schema)
    if isinstance(output, UpsertOutput):
        return UpsertOutput(plans, output.model, table, table.path)
    return AppendOutput(plans, output.model, table)


def _copied(rows: DataFrame) -> DataFrame:
    """The rows as they are now: the next case has others in the same place."""
    return rows.sparkSession.createDataFrame(rows.collect(), rows.schema, verifySchema=False)


def _taken(plans: Plans, source: str, rows: DataFrame) -> DataFrame:
    return plans.compute(source, lambda: rows, rows).frame


def _frames(
    session: SparkSession, landed: Landed, numbers: Sequence[int], random: Random, ticks: bool = False
) -> Mapping[str, DataFrame]:
    """The landed rows of each landing, in no order: models must not rely on one. Ticks alone are news where told so."""
    rows: dict[str, list[Row]] = {}
    for batch in landed.within(numbers):
        rows.setdefault(batch.landing, []).extend(batch.rows)
    news = {batch.landing for batch in landed.within(numbers) if ticks or not batch.is_tick}
    rows = {name: found for name, found in rows.items() if name in news}
    return {
        f"_landing.{name}": _frame(session, random.sample(found, len(found)), landing_schema())
        for name, found in rows.items()
    }


def _frame(session: SparkSession, rows: Sequence[Row], schema: StructType) -> DataFrame:
    return session.createDataFrame(list(rows), schema, verifySchema=False)


def _relation(session: SparkSession, project: Project, frames: Mapping[str, DataFrame], ref: Input) -> DataFrame:
    landing, topic = project.topic(ref.table.split(".")[1])
    return bronze(frames.get(f"_landing.{landing.name}", _frame(session, [], landing_schema())), topic)
