"""Whatever has left the logs of tables, and whatever files were made one: readers find all of it, as it was."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headrace.queries.sources import Source, records_in
from headrace.running import log_readers
from headrace.spark.implementations import small_batches
from headrace.store import trees
from headrace.store.commits import entry_path, newest_version
from headrace.store.layout import Layout
from headrace.store.maintenance.passes import KEPT, Maintenance, Policy
from headrace.store.maintenance.superseded import ChangeKeys
from headrace.streaming.streams import stream_of
from headrace.tables import commit_log
from headrace.tables.delta import CommitTable
from headrace.testing.cases import case as cases
from headrace.testing.cases.comparison import differences
from headrace.testing.cases.landing import land
from headrace.testing.runs import disk
from headrace.testing.runs.scope import Scope, narrowed
from headrace.testing.runs.trial import Models
from tests.long import one_of
from tests.unit.synthetic_table import SyntheticTable, ids

pytestmark = pytest.mark.spark

CASES = (
    "shipment_ready/events_after_shipping.yml",
    "sales_per_minute/minutes_of_each_product.yml",
    "calls/chain_of_halves.yml",
    "order_outcomes/verdicts_of_others.yml",
    "product_views/running_count_and_name.yml",
)
AT_ONCE = Policy(keep_history=0.0, kept=1, worth=1)


BATCHES = 2 * (KEPT + 60)


def old(table: SyntheticTable) -> SyntheticTable:
    """Maintained, so that only the newest commits are in the log and in files of their own."""
    for _ in range(2):
        table.append(KEPT + 60)
        Maintenance(table.path, Policy(keep_history=0.0, worth=1)).step()
    assert not entry_path(table.path, 1).exists()
    assert not (table.path / "batch-0").exists()
    return table


@pytest.fixture
def table(tmp_path: Path) -> SyntheticTable:
    return old(SyntheticTable.at(tmp_path / "t"))


def opened(spark: SparkSession, table: SyntheticTable) -> CommitTable:
    found = CommitTable.stored(spark, table.path)
    assert found is not None
    return found


def test_reader_that_begins_late_takes_every_commit_once_in_order(spark: SparkSession, table: SyntheticTable) -> None:
    stored, source = opened(spark, table), Source(opened(spark, table))
    batches, read = small_batches(spark.newSession()), list[str]()
    while True:
        upto, is_empty = source.next_range(80)
        commits = source.commits(source.done, upto)
        if not is_empty:
            assert records_in(commits) <= 80
            batches.begin(len(read), 80)
            rows = stored.rows(batches.session, *commits).collect()
            assert len(rows) == records_in(commits)
            read += [row.id for row in rows]
        if upto == source.done:
            break
        source.done = upto
    assert sorted(read) == ids(BATCHES)


def test_writer_goes_on(spark: SparkSession, table: SyntheticTable) -> None:
    stored = opened(spark, table)
    version = stored.newest_version()
    assert stored.newest_marker("q") is not None
    identity = stored.id()
    assert identity == opened(spark, table).id()
    rows = spark.createDataFrame([("new", None, 999)], stored.schema)
    assert stored.append(rows, {"query": "q", "batch": 999, "rows": 1}) == version + 1
    assert stored.snapshot(spark).where("_batch = 999").count() == 1
    assert stored.before(spark, 10).count() == 20


@pytest.mark.long
def test_stream_that_begins_late_reads_every_row_once(
    spark: SparkSession, table: SyntheticTable, tmp_path: Path
) -> None:
    stored, seen = opened(spark, table), list[str]()

    def run() -> None:
        reader = spark.readStream.format("delta")
        reader = reader.option("startingVersion", "0") if stored.begins_at_first else reader
        writer = reader.load(str(table.path)).writeStream
        writer = writer.foreachBatch(lambda rows, _: seen.extend(row.id for row in rows.select("id").collect()))
        writer.option("checkpointLocation", str(tmp_path / "c")).trigger(availableNow=True).start().awaitTermination()

    run()
    assert sorted(seen) == ids(BATCHES)
    table.append(300)
    run()
    assert sorted(seen) == ids(BATCHES + 300)


@pytest.mark.parametrize("keys", [None, ChangeKeys(("at",), keeps_deleted=True)], ids=["rows", "changes"])
def test_rows_that_leave_are_no_news(
    spark: SparkSession, tmp_path: Path, by_history: None, monkeypatch: pytest.MonkeyPatch, keys: ChangeKeys | None
) -> None:
    table, seen, now = SyntheticTable.at(tmp_path / "t"), list[str](), [time.time()]
    monkeypatch.setattr(time, "time", lambda: now[0])
    monkeypatch.setattr(trees.Instant, "now", lambda: trees.Instant(now[0], now[0]))
    work = Maintenance(table.path, Policy(keep_history=0.0, keep=3600.0, keys=keys, kept=1, worth=1))

    def run() -> None:
        writer = stream_of(spark, opened(spark, table)).load(str(table.path)).writeStream
        writer = writer.foreachBatch(lambda rows, _: seen.extend(row.id for row in rows.select("id").collect()))
        writer.option("checkpointLocation", str(tmp_path / "c")).trigger(availableNow=True).start().awaitTermination()

    retired = 0
    for _ in range(4):
        began = newest_version(table.path) + 1
        table.append(5)
        run()
        found = work.step(bound=began, worth=1)  # as a start asks for the last batch once more
        retired += found.retired if found else 0
        now[0] += 1800
    assert retired > 0
    table.append(1)
    run()
    assert sorted(seen) == ids(21)
    stored, source = opened(spark, table), Source(opened(spark, table))
    upto, _ = source.next_range(1000)
    rows = stored.rows(spark, *source.commits(source.done, upto)).collect()
    assert sorted(row.id for row in rows) == table.ids != ids(21)


@pytest.fixture
def by_history(monkeypatch: pytest.MonkeyPatch) -> None:
    """Readers look into the history for all but the newest commit."""
    monkeypatch.setattr(commit_log, "_UNTOUCHED", 1)
    monkeypatch.setattr(commit_log, "_HISTORY_SECONDS", 0.0)


def maintain(scope: Scope, layout: Layout) -> None:
    """All tables, as far as their readers allow."""
    bounds = log_readers.bounds(scope.project, layout, {})
    for log in layout.data_dir.glob("tables/*/*/_delta_log"):
        Maintenance(log.parent, AT_ONCE).step(bounds.get(log.parent))


@pytest.mark.parametrize("path", one_of(8, CASES))
def test_case_holds_with_maintenance_between_batches_and_when_all_is_made_anew(
    models: Models, by_history: None, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = cases.read(models.project, f"tests/models/{path}")
    landed = land(models.sandbox.judge, case.project, case.given, case.seeds)
    scope = Scope(models.sandbox, narrowed(case.project, case.tables), landed, case.tables)
    layout = models.sandbox.layout(scope.project)
    for number in range(landed.count):
        disk._land(scope, layout, [number])
        step(scope, layout)
    assert [*differences(case, landed, outcome(scope, layout))] == []

    for folder in layout.data_dir.iterdir():
        if folder.name != "tables":
            trees.remove(folder)
    for folder in (each for each in (layout.data_dir / "tables").iterdir() if each.name != "_landing"):
        trees.remove(folder)
    assert any(not (each / "_delta_log" / f"{0:020}.json").exists() for each in layout.data_dir.glob("tables/*/*"))
    step(scope, layout)
    assert [*differences(case, landed, outcome(scope, layout))] == []


def step(scope: Scope, layout: Layout) -> None:
    """A run of its own over what is new, and maintenance after it."""
    process = disk.Process(scope.sandbox, scope.project, layout)
    process.create_tables()
    process.advance(scope.landed.until([*range(scope.landed.count)]))
    process.stop()
    maintain(scope, layout)


def outcome(scope: Scope, layout: Layout) -> disk.Outcome:
    process = disk.Process(scope.sandbox, scope.project, layout)
    try:
        return disk._outcome(scope, layout, {}, process)
    finally:
        process.stop()
