"""Tests an upgrade: the old text processes some batches, and the new one continues from the same checkpoint."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Literal

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from headrace.errors import HeadraceError, UsageError
from headrace.planning.declared import Declared
from headrace.project import graph
from headrace.project.model import SNAPSHOT_AT, TICK_TOPIC, Project
from headrace.queries.sources import stored
from headrace.store.layout import Layout
from headrace.tables.diff import Difference, compare
from headrace.testing.cases.case import Case
from headrace.testing.cases.landing import LandedBatch, land
from headrace.testing.recording import MOST_RECORDS
from headrace.testing.runs.disk import Process, land_batch
from headrace.testing.runs.sandbox import Sandbox
from headrace.testing.runs.scope import narrowed

Truth = Literal["SAME", "KEEP", "MIX", "RESET", "UNPROVEN"]
_BEARS_OUT: Mapping[str, Collection[Truth]] = {
    "SAME": ("SAME", "UNPROVEN"),
    "KEEP": ("SAME", "KEEP", "UNPROVEN"),
    "FORWARD": ("SAME", "KEEP", "MIX", "UNPROVEN"),
    "MIX": ("SAME", "KEEP", "MIX", "UNPROVEN"),
}
"""What may happen by each verdict of a plan that promises something; a careful one is no false promise."""

_NO_ROWS = (
    "the batches after the change gave no rows; take more of them, `headrace upgrade test <model> --batches <n>`, or "
    "those of a case, `--case <file>`"
)

Batches = Sequence[Sequence[LandedBatch]]
"""What lands, step by step."""


@dataclass(frozen=True)
class Verdict:
    """What really happens; `difference` is between what the new text adds to the old state and what it adds alone."""

    truth: Truth
    why: str
    difference: Difference | None = None


@dataclass(frozen=True)
class _Rows:
    """The rows of a model that the first batches gave, and those that the others added."""

    before: DataFrame
    added: DataFrame

    @property
    def all(self) -> DataFrame:
        return self.before.unionByName(self.added, allowMissingColumns=True)


@dataclass(frozen=True)
class Upgrade:
    """Two versions of a project, and the model that is compared."""

    sandbox: Sandbox
    old: Project
    new: Project
    table: str

    def judge(self, batches: Batches, after: int, most: int = 20) -> Verdict:
        """Let the new text take over after so many batches, and compare with what it gives alone."""
        alone, old_alone = self._run(self.new, self.new, batches, after), self._run(self.old, self.old, batches, after)
        try:
            resumed = self._run(self.old, self.new, batches, after)
        except (HeadraceError, PySparkException) as error:
            return Verdict("RESET", f"the new text cannot go on: {str(error).splitlines()[0]}")
        found = compare(resumed.added, alone.added, (), most)
        if not (found.rows_running or found.rows_beside):
            return Verdict("UNPROVEN", _NO_ROWS)
        if compare(resumed.all, alone.all, (), 0).is_none and compare(old_alone.all, alone.all, (), 0).is_none:
            return Verdict("SAME", "both texts give the same rows over these batches")
        if found.is_none:
            return Verdict("KEEP", "every row after the change is as if the new text had always run", found)
        return Verdict("MIX", "rows after the change are neither those of the old text nor those of the new", found)

    def _run(self, first: Project, second: Project, batches: Batches, after: int) -> _Rows:
        layout = self.sandbox.layout(first)
        self._process(first, layout, batches[:after])
        known = stored(self.sandbox.spark, layout, first.model(self.table), self.sandbox.schemas(first)[self.table])
        before, version = known.snapshot(self.sandbox.spark), known.newest_version()
        self._process(second, layout, batches[after:])
        table = stored(self.sandbox.spark, layout, second.model(self.table), self.sandbox.schemas(second)[self.table])
        return _Rows(before, table.rows(self.sandbox.spark, *table.commits(version)))

    def _process(self, project: Project, layout: Layout, batches: Batches) -> None:
        """What one run does: batch by batch, as they land."""
        for landing in project.landings:
            self.sandbox.landing_table(layout, landing.name).create()
        for query in project.queries:
            self.sandbox.query(project, layout, query).create_tables()
        process = Process(self.sandbox, project, layout)
        try:
            for step in batches:
                for batch in step:
                    land_batch(self.sandbox, layout, batch)
                process.advance()
        finally:
            process.stop()


def contradicts(truth: Truth, planned: str) -> bool:
    """Whether what really happens is worse than the verdict of the plan promises."""
    return planned in _BEARS_OUT and truth not in _BEARS_OUT[planned]


def upgrade(sandbox: Sandbox, project: Project, declared: Declared, table: str) -> Upgrade:
    """From the declaration with which a query was last started to the current files."""
    if table not in declared.by_table:
        raise UsageError(f"{table} was not there when its query was started last; there is nothing to upgrade")
    old = replace(
        project,
        root=project.root / ".started",  # caches are keyed by the root, and the two projects must not share them
        models=declared.models,
        landings=declared.landings,
        macros=declared.macros,
        vars={name: value for name, value in declared.vars.items() if name != SNAPSHOT_AT},
        queries=graph.queries(declared.models),
    )
    return Upgrade(sandbox, narrowed(old, [table]), narrowed(project, [table]), table)


def batches_of(sandbox: Sandbox, case: Case) -> Batches:
    """The batches that a case lands."""
    landed = land(sandbox.judge, case.project, case.given, case.seeds).batches
    return [list(step) for _, step in groupby(landed, key=lambda batch: batch.number)]


def recorded_batches(sandbox: Sandbox, upgrade: Upgrade, most: int) -> Batches:
    """The newest batches with records that have landed for a model, and the ticks between them, oldest first.

    A source that is idle gets a tick every few seconds, so of several in succession there is only the last.
    """
    layout = upgrade.new.target.layout
    found = [batch for landing in _landings(upgrade.new) for batch in _landed(sandbox, layout, landing, most)]
    in_order = sorted(found, key=lambda batch: (max(row.landed_at for row in batch.rows), batch.landing))
    with_records = [at for at, batch in enumerate(in_order) if not batch.is_tick][-most:]
    if sum(len(batch.rows) for batch in in_order) > MOST_RECORDS:
        raise UsageError(f"these batches hold more than {MOST_RECORDS} records; take fewer")
    return [[batch] for batch in in_order[min(with_records, default=0) :]]


def _landings(project: Project) -> set[str]:
    reads = {ref.table for model in project.models for ref in model.inputs if ref.table.startswith("bronze.")}
    return {project.topic(table.split(".")[1])[0].name for table in reads}


def _landed(sandbox: Sandbox, layout: Layout, landing: str, most: int) -> Iterator[LandedBatch]:
    table = sandbox.landing_table(layout, landing)
    if table.newest_version() < 0:
        return
    rows = table.snapshot(sandbox.spark)
    batches = rows.groupBy("landing_batch").agg(F.bool_and(F.col("topic") == TICK_TOPIC).alias("is_tick"))
    with_records = batches.where("not is_tick").orderBy(F.desc("landing_batch")).limit(most)
    since = with_records.agg(F.min("landing_batch")).collect()[0][0]
    found = batches.where(F.col("landing_batch") >= F.lit(since)).orderBy("landing_batch").collect()
    for batch, after in zip(found, [*found[1:], None], strict=True):
        if not (batch.is_tick and after is not None and after.is_tick):
            of_batch = rows.where(F.col("landing_batch") == batch.landing_batch).limit(MOST_RECORDS + 1)
            yield LandedBatch(landing, batch.landing_batch, tuple(of_batch.collect()), batch.is_tick)
