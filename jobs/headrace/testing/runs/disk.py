"""Runs queries over real tables, with restarts, and with a crash in the middle of a batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from random import Random
from typing import Any

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, Row

from headrace.project.model import Project, Query
from headrace.queries.group import Group
from headrace.queries.snapshot import SnapshotQuery
from headrace.queries.sources import stored
from headrace.running.factory import AnyQuery
from headrace.spark.materialized import Materialized
from headrace.store.layout import Layout
from headrace.streaming.late import LateRows
from headrace.streaming.query import StreamedQuery
from headrace.tables.delta import CommitTable
from headrace.testing.cases.landing import LandedBatch
from headrace.testing.cases.outcome import Outcome
from headrace.testing.runs.cuts import Parts
from headrace.testing.runs.sandbox import Sandbox
from headrace.testing.runs.scope import Scope

_EVERYTHING = 1_000_000


class Crash(Exception):
    """The process dies here."""


@dataclass
class Fuse:
    """Counts the points before and after each commit down to the one where the process dies."""

    points_left: int

    def burn(self) -> None:
        """Pass a point, or die there."""
        self.points_left -= 1
        if self.points_left == -1:
            raise Crash

    @property
    def is_blown(self) -> bool:
        """Whether the process has died."""
        return self.points_left < 0


class Process:
    """The queries of a project within one run; another instance is the next run."""

    def __init__(self, sandbox: Sandbox, project: Project, layout: Layout, fuse: Fuse | None = None) -> None:
        self.lines: dict[tuple[str, int], Sequence[str]] = {}
        self._sandbox = sandbox
        self._queries = [sandbox.query(project, layout, query) for query in project.queries]
        self._fuse = fuse
        for query in self._queries:
            _arm(query, fuse)

    def create_tables(self) -> None:
        """Create the tables of its queries, as a run does at its start: a table that does not fit is refused."""
        for query in self._queries:
            query.create_tables()

    def advance(self, now: datetime | None = None) -> None:
        """Process all that has landed until `now`, the clock's time by default, as far as the fuse allows."""
        now = now or datetime.now(timezone.utc)
        for query in self._queries:
            if isinstance(query, Group):
                self._step(query)
            elif isinstance(query, SnapshotQuery):
                while query.step(now):
                    pass
            else:
                self._flow(query)

    @property
    def watermarks(self) -> Mapping[str, datetime | None]:
        """The watermark of each streaming model."""
        natives = [query for query in self._queries if isinstance(query, StreamedQuery)]
        return {query.model.table: query.watermark for query in natives}

    @property
    def dropped(self) -> int:
        """How many rows came too late for a streaming model."""
        return sum(query.output.late.count for query in self._queries if isinstance(query, StreamedQuery))

    def stop(self) -> None:
        """End all queries."""
        for query in self._queries:
            self._sandbox.release(query)

    def _step(self, group: Group) -> None:
        while report := group.step(_EVERYTHING):
            self.lines[group.query.name, report.batch] = report.lines

    def _flow(self, query: StreamedQuery) -> None:
        running = query.running or query.start()
        try:
            running.processAllAvailable()
        except StreamingQueryException:
            if self._fuse is not None and self._fuse.is_blown:
                raise Crash from None
            raise


def run(scope: Scope, parts: Parts) -> Outcome:
    """Process the parts one after another."""
    layout = scope.sandbox.layout(scope.project)
    process = Process(scope.sandbox, scope.project, layout)
    for numbers in parts:
        _land(scope, layout, numbers)
        process.advance(scope.landed.until(numbers))
    process.stop()
    return _outcome(scope, layout, process.lines, process)


def run_with_restarts(scope: Scope, parts: Parts, random: Random) -> Outcome:
    """Process each part in a separate process; one of them crashes at some point, and the next one takes over."""
    layout = scope.sandbox.layout(scope.project)
    lines: dict[tuple[str, int], Sequence[str]] = {}
    fatal = random.randrange(len(parts))
    if fatal == len(parts) - 1:
        parts = [*parts, ()]
    for index, numbers in enumerate(parts):
        _land(scope, layout, numbers)
        fuse = Fuse(random.randrange(2 * len(scope.project.models))) if index == fatal else None
        process = Process(scope.sandbox, scope.project, layout, fuse)
        try:
            process.advance(scope.landed.until(numbers))
        except Crash:
            pass  # the next one finds what this one left
        finally:
            process.stop()
        lines |= process.lines
    return _outcome(scope, layout, lines, process)


def _land(scope: Scope, layout: Layout, numbers: Sequence[int]) -> None:
    for batch in scope.landed.within(numbers):
        land_batch(scope.sandbox, layout, batch)


class _Fused(CommitTable):
    """A table at which the process can die, before a commit or after it."""

    def __init__(self, table: CommitTable, fuse: Fuse) -> None:
        super().__init__(table.spark, table.path, table.schema)
        self._fuse = fuse

    def append(self, rows: DataFrame | Materialized, marker: Mapping[str, Any]) -> int:
        self._fuse.burn()
        version = super().append(rows, marker)
        self._fuse.burn()
        return version


def _arm(query: AnyQuery, fuse: Fuse | None) -> None:
    if fuse is None:
        return
    if isinstance(query, SnapshotQuery):
        query.table = _Fused(query.table, fuse)
        return
    tests = query.tests if isinstance(query, Group) else query.output.tests
    if tests.keeps_rows:
        tests.table = _Fused(tests.table, fuse)
    for output in query.outputs.values() if isinstance(query, Group) else (query.output,):
        output.table = _Fused(output.table, fuse)
    if isinstance(query, StreamedQuery):
        query.output.late.table = _Fused(query.output.late.table, fuse)


def land_batch(sandbox: Sandbox, layout: Layout, batch: LandedBatch) -> None:
    """Commit a landing batch."""
    table = sandbox.landing_table(layout, batch.landing)
    records = 0 if batch.is_tick else len(batch.rows)
    marker = {"query": f"ingest_{batch.landing}", "batch": batch.number, "records": records, "tick": batch.is_tick}
    table.append(sandbox.files_of(batch), marker)


def _outcome(scope: Scope, layout: Layout, lines: Mapping[tuple[str, int], Sequence[str]], process: Process) -> Outcome:
    sandbox, project = scope.sandbox, scope.project
    schemas = sandbox.schemas(project)
    models = [project.model(name) for name in scope.tables]
    tables = {model.table: stored(sandbox.spark, layout, model, schemas[model.table]) for model in models}
    logged = [line for at in sorted(lines) for line in lines[at]]
    native = [query.models[0].table for query in project.queries if query.engine == "streaming"]
    late = {name: LateRows(sandbox.spark, layout, name).table.all_rows(sandbox.spark) for name in native}
    rows = {name: table.all_rows(sandbox.spark) for name, table in tables.items()}
    failed = tuple(row for query in project.queries for row in _failed(sandbox, layout, query))
    return Outcome(
        rows, tuple(logged), late=late, failed=failed, watermarks=process.watermarks, dropped=process.dropped
    )


def _failed(sandbox: Sandbox, layout: Layout, query: Query) -> list[Row]:
    """The rows that data tests kept out of the tables of a query."""
    table = CommitTable.stored(sandbox.spark, layout.failed(query.name))
    return table.all_rows(sandbox.spark).collect() if table else []
