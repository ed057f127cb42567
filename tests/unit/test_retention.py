"""Rows that are older than a table is to keep leave it file by file, and nobody loses what is still to be read."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from pathlib import Path

import pytest

from headrace.project import graph
from headrace.project.model import Project
from headrace.queries.failing.replaying_rows import may_have_left
from headrace.queries.inputs import InputLog, Inputs
from headrace.running import log_readers
from headrace.running.upkeep import TableUpkeep, tables
from headrace.store.commits import UPKEEP, actions_of, commit_of, newest_version
from headrace.store.delta_tables import open_table
from headrace.store.maintenance import retention
from headrace.store.maintenance.passes import Maintenance, Policy, Upkeep
from headrace.store.maintenance.retention import MARKS, Ages, Mark
from headrace.store.maintenance.superseded import ChangeKeys
from headrace.store.removal.data_files import active_files
from headrace.store.trees import Instant
from tests.unit.conftest import Store
from tests.unit.synthetic_table import SyntheticTable, ids

DAY = 86_400.0
KEEP = 10 * DAY
POLICY = Policy(keep_history=0.0, keep=KEEP, kept=2, worth=4)


@dataclass
class World:
    """A table, its maintenance, and a clock; a day has two batches, and then maintenance looks at the table."""

    table: SyntheticTable
    work: Maintenance
    now: float = 1_800_000_000.0
    ahead: float = 0.0
    unread: int | None = None
    done: list[Upkeep] = field(default_factory=list)

    def pass_days(self, days: int, batches: int = 2) -> None:
        for _ in range(days):
            self.table.append(batches)
            self.look()
            self.now += DAY

    def look(self, worth: int | None = None) -> None:
        found = self.work.step(None, worth, self.unread)
        self.done += [found] if found else []

    @property
    def batches(self) -> tuple[int, int]:
        """The oldest batch of which a row is there, and the newest."""
        found = [int(name[1:].partition("-")[0]) for name in self.table.ids]
        assert len(found) == 2 * (max(found) - min(found) + 1), "some rows are missing in between"
        return min(found), max(found)


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setattr(os, "fsync", lambda file: None)
    found = World(SyntheticTable.at(tmp_path / "t"), Maintenance(tmp_path / "t", POLICY))
    monkeypatch.setattr(time, "time", lambda: found.now + found.ahead)
    monkeypatch.setattr(Instant, "now", lambda: Instant(found.now + found.ahead, found.now))
    return found


def test_rows_leave_after_their_time_and_not_before(world: World) -> None:
    for day in range(1, 22):
        world.pass_days(1)
        oldest, newest = world.batches
        assert (newest, oldest <= max(day - 10, 0) * 2) == (day * 2 - 1, True)
    assert world.batches[0] >= 16


def test_rows_stay_without_keep(world: World) -> None:
    world.work = Maintenance(world.table.path, replace(POLICY, keep=None))
    world.pass_days(15)
    assert (world.table.ids, retention.kept_since(world.table.path)) == (ids(30), None)


@pytest.mark.parametrize("ahead", [365 * DAY, -3 * DAY], ids=["ahead", "back"])
def test_clock_that_is_set_makes_no_row_older_or_younger(world: World, ahead: float) -> None:
    world.pass_days(9)
    world.ahead = ahead
    world.pass_days(1)
    assert world.batches[0] == 0
    world.ahead = 0.0
    world.pass_days(6)
    assert 8 <= world.batches[0] <= 12


def test_reader_that_is_behind_keeps_its_rows(world: World) -> None:
    world.pass_days(6)
    world.unread = newest_version(world.table.path) + 1  # batch 12 is the first that it has not read
    world.pass_days(20)
    assert world.batches[0] == 12
    world.unread = None
    world.pass_days(1)
    assert world.batches[0] > 25


def test_removal_is_a_commit_of_maintenance_that_changes_data(world: World) -> None:
    world.pass_days(14)
    found = [actions_of(world.table.path, int(file.stem)) for file in world.table.log if file.stem.isdecimal()]
    removal = next(each for each in found if any("remove" in one and one["remove"]["dataChange"] for one in each))
    commit = commit_of(1, removal)
    assert (commit.marker, commit.batch, commit.added_rows) == ({UPKEEP: "retention"}, -1, False)
    assert not any("add" in each for each in removal)
    assert open_table(world.table.path).metadata().configuration["delta.appendOnly"] == "false"


def test_files_that_left_are_removed(world: World) -> None:
    world.pass_days(20)
    world.look(worth=1)
    stored = {each.rpartition("/")[2] for each in open_table(world.table.path).file_uris()}
    assert {file.name for file in world.table.files} >= stored
    assert len(world.table.files) < 30
    assert sum(each.retired for each in world.done) > 5


def test_table_says_since_when_it_is_whole(world: World) -> None:
    world.pass_days(15)
    since = retention.kept_since(world.table.path)
    oldest_day = datetime.fromtimestamp(1_800_000_000 + (world.batches[0] // 2 - 1) * DAY, timezone.utc)
    assert since == oldest_day


def test_broken_off_removal_is_made_good(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.pass_days(10)

    def dies(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Ages, "without", dies)
        with pytest.raises(KeyboardInterrupt):
            world.pass_days(5)
    world.work = Maintenance(world.table.path, POLICY)
    world.pass_days(5)
    assert (retention.kept_since(world.table.path) is not None, world.batches[0] > 4) == (True, True)


def test_young_and_old_rows_are_not_made_one_file(world: World) -> None:
    world.pass_days(9, batches=3)
    files = active_files(open_table(world.table.path))
    spans = [(each.first, each.last) for each in files if each.last > each.first]
    assert spans and max(last - first for first, last in spans) < 3


@pytest.mark.parametrize("keep", [3600.0, 30 * DAY])
def test_marks_are_few_however_often_the_table_is_looked_at(keep: float) -> None:
    ages, most = Ages(), 0
    for minute in range(int(3 * keep / 60)):
        now = minute * 60.0
        ages = ages.marked(Mark(now, minute)) if ages.is_due(now, keep) else ages
        mark = ages.leaving(now - keep, minute)
        ages = ages.without(mark) if mark else ages
        most = max(most, len(ages.marks))
    assert most <= MARKS + 2


def test_clock_that_is_put_back_removes_nothing_early() -> None:
    ages = Ages((Mark(1_000.0, 5),))
    assert not ages.is_due(500.0, KEEP)
    assert ages.leaving(500.0, 9) is None


@pytest.fixture
def project(store: Store) -> Project:
    """A landing that keeps rows for a month, and a group that reads it."""
    landing, *others = store.project.landings
    return replace(store.project, landings=(replace(landing, keep=KEEP, keep_history=7 * DAY), *others))


def test_policy_of_a_table_is_its_own_before_that_of_the_target(project: Project, store: Store) -> None:
    found = {name: policy for name, _, policy in tables(project, store.layout)}
    assert found["landing shipping"] == Policy(7 * DAY, KEEP)
    assert found["landing sales"] == Policy(project.target.keep_history)


def of_query(project: Project) -> Project:
    """The same with one group of all its models, which this run does not select."""
    models = (each if each.materialized == "view" else replace(each, query="shipping") for each in project.models)
    return replace(project, models=tuple(models), queries=())


@pytest.mark.parametrize(("is_done", "expected"), [(True, 8), (False, 4)])
def test_group_has_still_to_read_what_is_behind_its_newest_batch(
    project: Project, store: Store, is_done: bool, expected: int
) -> None:
    log, running = InputLog(store.layout.checkpoint("shipping")), of_query(project)
    assert log_readers.unread(running, store.layout) == {}
    log.record(Inputs(0, {"_landing.shipping": (3, 7), "gold.shipment_ready": (0, 1), "_landing.gone": (0, 1)}))
    if is_done:
        log.finish(0)
    found: Mapping[Path, int] = {path: v for path, v in log_readers.unread(running, store.layout).items()}  # type: ignore[misc]
    assert found[store.layout.landing("shipping")] == expected  # type: ignore[index]


def test_group_that_is_behind_holds_the_rows_of_its_landing(
    project: Project, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = dict[str, int | None]()

    def step(work: Maintenance, bound: int | None, worth: int | None, unread: int | None) -> None:
        asked[str(work.path)] = unread

    monkeypatch.setattr(Maintenance, "step", step)
    InputLog(store.layout.checkpoint("shipping")).record(Inputs(0, {"_landing.shipping": (3, 7)}))
    TableUpkeep(of_query(project), store.layout, dict, lambda *_, **__: None).round()
    assert {path: unread for path, unread in asked.items() if unread is not None} == {
        str(store.layout.landing("shipping")): 4
    }


@dataclass
class Upserts:
    """A model's change log with a batch a version, and the current rows that were stored after one of them."""

    project: Project
    changes: SyntheticTable
    rows: SyntheticTable


@pytest.fixture
def upserts(store: Store) -> Upserts:
    grouped = of_query(store.project).models
    models = [replace(each, keep=KEEP) if each.materialized == "upsert" else each for each in grouped]
    model = next(each for each in models if each.materialized == "upsert")
    paths = store.layout.changes(model.table), store.layout.table(model.table)
    changes, rows = (SyntheticTable.at(Path(str(path))) for path in paths)
    changes.append(5)
    rows.commit([], {"query": model.query, "batch": 2})
    project = replace(store.project, models=tuple(models), queries=graph.queries(models))
    return Upserts(project, changes, rows)


def test_changes_behind_the_stored_rows_are_needed(upserts: Upserts, store: Store) -> None:
    needed = {str(path): version for path, version in log_readers.unread(upserts.project, store.layout).items()}
    assert needed == {str(upserts.changes.path): 4}  # batch 2 is version 3


def test_upsert_keeps_the_newest_change_of_each_key(upserts: Upserts, store: Store) -> None:
    found = {path: policy for _, path, policy in tables(upserts.project, store.layout)}
    policy = found[upserts.changes.path]
    assert (policy.keep, policy.keys) == (KEEP, ChangeKeys(("order_id",)))
    assert found[upserts.rows.path].keep is None


def test_change_that_closes_a_key_stays(upserts: Upserts, store: Store) -> None:
    models = tuple(replace(each, close_when="n > 1") for each in upserts.project.models)
    closing = replace(upserts.project, queries=graph.queries(models))
    found = {path: policy for _, path, policy in tables(closing, store.layout)}
    assert found[upserts.changes.path].keys == ChangeKeys(("order_id",), keeps_deleted=True)


@pytest.mark.parametrize(("read", "expected"), [((0, 2), True), ((2, 3), True), ((3, 5), False), ((2, 2), False)])
def test_rows_that_have_left_cannot_be_delivered_again(
    upserts: Upserts, store: Store, read: tuple[int, int], expected: bool
) -> None:
    """Version 1 has batch 0; batches up to 2 have left."""
    retention.write(upserts.changes.path, Ages(gone=Mark(1.0, 2)))
    assert may_have_left(upserts.project, store.layout, {"silver.open_orders": read, "gold.gone": (0, 9)}) is expected
