"""Queries rebuilt beside the running ones: filled from what landed, compared, and swapped in."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from headrace.environment import swap
from headrace.planning import declared
from headrace.planning.declared import Declared
from headrace.project import graph, rebuilds, resets
from headrace.project.model import Project
from headrace.project.rebuilds import Rebuild
from headrace.reading.show import show
from headrace.running.refill import Refill
from headrace.store.layout import Layout
from headrace.tables.diff import Difference, Example
from headrace.tables.versions import difference
from headrace.testing.cases.case import Batch
from headrace.testing.cases.landing import land
from headrace.testing.runs.disk import Process
from headrace.testing.runs.sandbox import Sandbox
from tests.plan import corpus

pytestmark = pytest.mark.spark

BATCHES = TypeAdapter(tuple[Batch, ...])
FILES = {
    **corpus.BASE,
    "sql/silver/s/totals.sql": """/*
Running totals: one row per id.

materialized: upsert
unique_key: id
query: totals
*/
with a as (
    select id, x, _arrival from stream silver.a
),
before as (
    select id, total from silver.totals
),
summed as (
    select
        a.id,
        coalesce(before.total, 0) + sum(a.x) over (
            partition by a.id order by a._arrival
        ) as total,
        a._arrival
    from a
    left join before on a.id = before.id
)
select * from summed
""",
    "sql/gold/s/large.sql": """/*
Totals that are large: one row per change.

materialized: append
query: large
*/
select id, total, _arrival from stream silver.totals where total >= 10
""",
    "sql/gold/s/per_minute.sql": """/*
Sums per minute: one row per id and minute.

materialized: append
run: streaming
*/
with a as (
    select id, x, at from stream silver.a watermark at delay of interval 1 minute
)
select id, window(at, '1 minute').start as minute, sum(x) as total
from a
group by id, window(at, '1 minute')
""",
}
FIRST = [{"a": [{"key": "p", "value": {"x": 4, "at": "2026-01-01T10:00:00Z"}}, {"key": "q", "value": {"x": 9}}]}]
NEXT = [*FIRST, {"a": [{"key": "p", "value": {"x": 6, "at": "2026-01-01T10:05:00Z"}}]}]
LAST = [*NEXT, {"a": [{"key": "q", "value": {"x": 1, "at": "2026-01-01T10:09:00Z"}}]}]


class World:
    """A small running project, and edits of it that are rebuilt beside it."""

    def __init__(self, sandbox: Sandbox, folder: Path) -> None:
        self.sandbox = sandbox
        self._folder = folder
        self.project = self.edited()
        self.layout = Layout(folder / "data")
        for landing in self.project.landings:
            sandbox.landing_table(self.layout, landing.name).create()
        for query in self.project.queries:
            sandbox.query(self.project, self.layout, query).create_tables()
        self._landed = 0

    def edited(self, **edits: tuple[str, str]) -> Project:
        """The project with one text instead of another in the file of a model."""
        files = dict(FILES)
        for path, text in FILES.items():
            if (edit := edits.get(Path(path).stem)) is not None:
                assert edit[0] in text
                files[path] = text.replace(*edit)
        made = corpus.project(files, self._folder / f"project-{'-'.join(edits) or 'old'}")
        return replace(made, target=replace(made.target, data_dir=self._folder / "data"))

    def land(self, given: Any) -> None:
        """Let those of some batches land that have not landed yet."""
        landed = land(self.sandbox.judge, self.project, BATCHES.validate_python(given))
        for batch in landed.within(range(self._landed, landed.count)):
            table = self.sandbox.landing_table(self.layout, batch.landing)
            rows = self.sandbox.spark.createDataFrame(list(batch.rows), table.schema, verifySchema=False)
            table.append(rows.coalesce(1), {"query": "ingest_s", "batch": batch.number, "records": len(batch.rows)})
        self._landed = landed.count

    def run(self, project: Project | None = None) -> None:
        """Process all that has landed, as a run does."""
        process = Process(self.sandbox, project or self.project, self.layout)
        try:
            process.advance()
        finally:
            process.stop()

    def rebuild(self, project: Project, name: str, everything: bool = False) -> Rebuild:
        """Fill a query and its readers beside the running ones."""
        names = graph.with_readers(project.queries, project.models, {name})
        rebuild = rebuilds.find(self.layout, name) or Rebuild(names)
        declared.write(rebuilds.beside(self.layout, rebuild, project.queries), Declared.of(project), names, {})
        refill = Refill(self.sandbox.spark, project, rebuild, self.sandbox.schemas(project), log=lambda *_, **__: None)
        found = refill.run(threading.Event(), everything)
        assert found is not None
        return found

    def diff(self, project: Project, rebuild: Rebuild, table: str) -> Difference:
        return difference(self.sandbox.spark, project, rebuild, table, 10)

    def swap(self, project: Project, name: str) -> Path:
        """Swap in the rebuilt tables."""
        rebuild = self.rebuild(project, name, everything=True)
        members = [query for query in project.queries if query.name in rebuild.queries]
        paths = [path for query in members for path in resets.stored(self.layout, query)]
        retired = swap.swap(self.layout, rebuild.folder(self.layout), rebuild.queries, paths, days=7)
        jvm: Any = self.sandbox.spark._jvm
        jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()  # another process would know nothing of the old tables
        return retired

    def rows(self, table: str) -> list[Mapping[str, Any]]:
        """What a reader sees, without a JVM."""
        found = show(self.project, self.layout, table).rows
        return [{name: value for name, value in row.items() if not name.startswith("_")} for row in found]


@pytest.fixture
def world(sandbox: Sandbox, tmp_path: Path) -> Iterator[World]:
    made = World(sandbox, tmp_path)
    made.land(FIRST)
    made.run()
    yield made


def test_unedited_text_gives_the_same_rows(world: World) -> None:
    rebuild = world.rebuild(world.project, "totals")
    found = [world.diff(world.project, rebuild, table) for table in ("silver.totals", "gold.large")]
    assert rebuild.queries == ("totals", "large")
    assert [(each.is_none, each.rows_running, each.rows_beside) for each in found] == [(True, 2, 2), (True, 0, 0)]


def test_edit_shows_the_cells_that_it_changes(world: World) -> None:
    doubled = world.edited(totals=("sum(a.x)", "sum(a.x * 2)"))
    rebuild = world.rebuild(doubled, "totals")
    totals = world.diff(doubled, rebuild, "silver.totals")
    large = world.diff(doubled, rebuild, "gold.large")
    assert (totals.differing, totals.cells) == (2, {"total": 2})
    assert totals.examples[0] == Example({"id": '"p"'}, {"total": "4"}, {"total": "8"})
    assert (large.only_running, large.only_beside) == (0, 1)
    assert large.examples == (Example({}, {}, {"id": '"q"', "total": "18"}),)
    assert world.rows("silver.totals") == [{"id": "p", "total": 4}, {"id": "q", "total": 9}]


@pytest.mark.long
def test_running_rows_are_compared_as_of_the_same_batch(world: World) -> None:
    rebuild = world.rebuild(world.project, "totals")
    world.land(NEXT)
    world.run()
    assert world.rows("silver.totals")[0]["total"] == 10
    assert world.diff(world.project, rebuild, "silver.totals").is_none


@pytest.mark.long
def test_rebuild_reads_no_further_than_the_running_query(world: World) -> None:
    world.land(NEXT)
    rebuild = world.rebuild(world.project, "totals")
    assert world.diff(world.project, rebuild, "silver.totals").is_none
    world.run()
    rebuild = world.rebuild(world.project, "totals")
    assert world.diff(world.project, rebuild, "gold.large").rows_beside == 1


def test_swapped_queries_go_on_where_they_were(world: World) -> None:
    doubled = world.edited(totals=("sum(a.x)", "sum(a.x * 2)"))
    world.rebuild(doubled, "totals")
    world.land(NEXT)
    world.run()
    retired = world.swap(doubled, "totals")
    assert world.rows("silver.totals") == [{"id": "p", "total": 20}, {"id": "q", "total": 18}]
    world.land(LAST)
    world.run(doubled)
    assert world.rows("silver.totals") == [{"id": "p", "total": 20}, {"id": "q", "total": 20}]
    assert sorted(row["total"] for row in world.rows("gold.large")) == [18, 20, 20]
    assert (retired / "tables/_changes/silver.totals/_delta_log").is_dir()
    assert not rebuilds.known(world.layout)


@pytest.mark.long
def test_streaming_query_is_rebuilt(world: World) -> None:
    doubled = world.edited(per_minute=("sum(x)", "sum(x * 2)"))
    world.land(NEXT)
    world.run()
    same = world.diff(world.project, world.rebuild(world.project, "per_minute"), "gold.per_minute")
    assert (same.is_none, same.rows_running > 0) == (True, True)
    shutil.rmtree(world.layout.rebuilds)
    found = world.diff(doubled, world.rebuild(doubled, "per_minute"), "gold.per_minute")
    assert found.only_running == found.only_beside == same.rows_running
    world.swap(doubled, "per_minute")
    world.land(LAST)
    world.run(doubled)
    assert [row["total"] for row in world.rows("gold.per_minute") if row["id"] == "p"] == [8, 12]
