"""Snapshots: due by the clock, once over crashes and restarts, over what a reset has left."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from pyspark.sql import DataFrame

from headrace.project.model import Project
from headrace.queries.snapshot import SnapshotQuery
from headrace.running.tasks.snapshot import SnapshotTask
from headrace.running.tasks.task import CommitSignals
from headrace.store.layout import Layout
from headrace.tables.delta import CommitTable
from headrace.tables.state import changes_schema
from headrace.testing.runs.scope import narrowed
from headrace.testing.runs.trial import Models

pytestmark = pytest.mark.spark

NOON = datetime(2026, 1, 1, 12, tzinfo=timezone.utc)


def after(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


class Died(Exception):
    """The process dies before a commit."""


class Deadly(CommitTable):
    """A table that is not written any more."""

    def append(self, rows: DataFrame, marker: Any) -> int:
        raise Died


@dataclass
class Counters:
    """The counters of a project, counted up by hand, and its snapshots."""

    models: Models
    project: Project
    layout: Layout
    batch: int = 0

    def query(self) -> SnapshotQuery:
        """The snapshot query of a new run."""
        (declared,) = (query for query in self.project.queries if query.name == "view_counters")
        found = self.models.sandbox.query(self.project, self.layout, declared)
        assert isinstance(found, SnapshotQuery)
        return found

    def count(self, product: int, views: int) -> None:
        """A batch of the group that counts."""
        row = {name: None for name in self._changes.names}
        arrival = (self.batch, "logs", 0, self.batch)
        row |= {
            "product_id": product,
            "view_count": views,
            "_arrival": arrival,
            "_deleted": False,
            "_batch": self.batch,
        }
        rows = self.log.spark.createDataFrame([tuple(row.values())], self._changes)
        self.log.append(rows.coalesce(1), {"query": "clicks", "batch": self.batch, "rows": 1})
        self.batch += 1

    @property
    def log(self) -> CommitTable:
        """The change log of the counters."""
        return CommitTable(self.models.sandbox.spark, self.layout.changes("silver.view_totals"), self._changes)

    def rows(self) -> list[tuple[float, int, int]]:
        """Seconds after noon, product and count of all that was taken."""
        table = CommitTable(self.models.sandbox.spark, self.layout.table("gold.view_counters"), self._changes)
        rows = table.snapshot(self.models.sandbox.spark).collect()
        return sorted(
            ((row.snapshot_at.astimezone(timezone.utc) - NOON).total_seconds(), row.product_id, row.view_count)
            for row in rows
        )

    @property
    def _changes(self) -> Any:
        return changes_schema(self.models.sandbox.schemas(self.project)["silver.view_totals"])


@pytest.fixture
def counters(models: Models) -> Counters:
    project = narrowed(models.project, ["gold.view_counters"])
    return Counters(models, project, models.sandbox.layout(project))


def test_snapshot_comes_when_it_is_due(counters: Counters) -> None:
    query = counters.query()
    counters.count(1, 7)
    taken = [query.step(after(seconds)) is not None for seconds in (0, 4.9, 5.5, 9.9, 10, 33, 34, 38)]
    assert taken == [True, False, True, False, True, True, False, True]
    assert counters.rows() == [(seconds, 1, 7) for seconds in (0, 5.5, 10, 33, 38)]


def test_clock_that_is_put_back_holds_none_up(counters: Counters) -> None:
    query = counters.query()
    counters.count(1, 7)
    day = 86_400
    taken = [query.step(after(seconds)) is not None for seconds in (0, day, day + 1, 2, 6, 7)]
    assert taken == [True, True, False, False, False, True]


def test_change_is_in_the_next_snapshot(counters: Counters) -> None:
    query = counters.query()
    counters.count(1, 7)
    query.step(after(0))
    counters.count(2, 1)
    counters.count(1, 8)
    query.step(after(5))
    assert counters.rows() == [(0, 1, 7), (5, 1, 8), (5, 2, 1)]


def test_restart_takes_none_twice(counters: Counters) -> None:
    counters.count(1, 7)
    counters.query().step(after(0))
    again = counters.query()
    assert [again.step(after(seconds)) is not None for seconds in (1, 4.9, 5)] == [False, False, True]
    assert counters.rows() == [(0, 1, 7), (5, 1, 7)]


def test_begun_snapshot_is_completed_as_it_was_begun(counters: Counters) -> None:
    counters.count(1, 7)
    dying = counters.query()
    dying.table = Deadly(dying.table.spark, dying.table.path, dying.table.schema)
    with pytest.raises(Died):
        dying.step(after(0))
    counters.count(1, 8)
    heir = counters.query()
    taken = [heir.step(after(seconds)) for seconds in (3, 3, 5)]
    assert [report and report.batch for report in taken] == [0, None, 1]
    assert counters.rows() == [(0, 1, 7), (5, 1, 8)]


def test_begun_snapshot_of_a_table_that_was_reset_is_void(counters: Counters) -> None:
    counters.count(1, 7)
    dying = counters.query()
    dying.table = Deadly(dying.table.spark, dying.table.path, dying.table.schema)
    with pytest.raises(Died):
        dying.step(after(0))
    renewed = counters.models.sandbox.layout(counters.project).changes("silver.view_totals")
    stored = counters.layout.changes("silver.view_totals")
    stored.rename(stored.with_name("gone"))
    renewed.rename(stored)
    _new_id(stored)
    counters.batch = 0
    counters.count(1, 1)
    counters.query().step(after(9))
    assert counters.rows() == [(9, 1, 1)]


def _new_id(table: Path) -> None:
    """Tables of a sandbox are copies of one; a table that is recreated has a new id."""
    entry = table / "_delta_log" / f"{0:020}.json"
    entry.write_text(entry.read_text("utf-8").replace(DeltaTable(table).metadata().id, "another"), "utf-8")


def test_table_that_nobody_has_made_has_no_rows(counters: Counters) -> None:
    shutil.rmtree(counters.layout.changes("silver.view_totals"))
    query = counters.query()
    report = query.step(after(0))
    assert report and report.rows == 0
    counters.log.create()
    counters.count(1, 7)
    query.step(after(5))
    assert counters.rows() == [(5, 1, 7)]


def test_none_is_taken_without_a_pause(counters: Counters) -> None:
    counters.project = replace(counters.project, vars={**counters.project.vars, "snapshot_every": None})
    counters.count(1, 7)
    assert counters.query().step(after(0), is_last=True) is None


def test_run_over_what_is_there_takes_one_at_its_end(counters: Counters) -> None:
    counters.count(1, 7)
    events, is_over = list[str](), list[bool]()
    task = SnapshotTask(
        counters.query(), CommitSignals(), lambda event, **_: events.append(event), after=lambda: bool(is_over)
    )
    assert [task.step(), task.step()] == [False, False]
    is_over.append(True)
    assert [task.step(), task.step(), task.step()] == [True, False, False]
    assert (events, len(counters.rows())) == (["snapshot"], 1)
