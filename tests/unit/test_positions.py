"""Recorded positions that are ahead of what exists are refused; those that are behind, or of old runs, are not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from headrace.project import loader
from headrace.project.model import Project
from headrace.queries.inputs import InputLog, Inputs
from headrace.running import positions
from headrace.store import trees
from headrace.store.delta_tables import id_of
from headrace.store.layout import Layout
from headrace.store.paths import StorePath
from headrace.streaming import source_names
from headrace.streaming.positions import note_written
from headrace.streaming.source_names import Read
from headrace.tables.positions import Extent, Position
from tests.unit.synthetic_table import SyntheticTable

ROOT = Path(__file__).parents[2]
LANDED, STATE = "_landing.shipping", "silver.open_orders"


@pytest.fixture(scope="module")
def project() -> Project:
    return loader.load(ROOT, "test")


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    return Layout(tmp_path)


def made(path: StorePath, batches: int = 3) -> str:
    """A table with so many batches of the query q, one a version; returns its id."""
    assert isinstance(path, Path)
    path.parent.mkdir(parents=True, exist_ok=True)
    SyntheticTable.at(path).append(batches)
    return id_of(path)


def told(project: Project, layout: Layout) -> list[str]:
    """The queries that findings are about, and what each is told to have read or written."""
    found = [*positions.findings(project, layout)]
    assert all(each.code == "position-ahead" and "headrace reset" in each.message for each in found)
    return [" ".join(each.message.split()[:4]) for each in found]


def group(layout: Layout, upto: int, table_id: str, written: tuple[Position, ...] = ()) -> None:
    """The recorded inputs of the group `shipping`, its batch 7 being finished."""
    log = InputLog(layout.checkpoint("shipping"))
    log.record(Inputs(7, {LANDED: (0, upto)}, ids={LANDED: table_id}))
    log.finish(7, written)


def checkpoint(layout: Layout, upto: int, table_id: str, batch: int = 4) -> StorePath:
    """A checkpoint of Spark's of the query `calls` that has begun a batch."""
    folder, read = layout.checkpoint("calls"), Read("bronze.call_analytics")
    names = source_names.assigned([read], {})
    source_names.note(folder, names)
    offset = {"reservoirId": table_id, "reservoirVersion": upto, "index": -1}
    (folder / "offsets").mkdir(parents=True)
    (folder / "offsets" / str(batch)).write_text("\n".join(("v2", "{}", f"{names[read.key]}:{json.dumps(offset)}")))
    return folder


def test_nothing_recorded_is_nothing_ahead(project: Project, layout: Layout) -> None:
    assert told(project, layout) == []


@pytest.mark.parametrize(("upto", "found"), [(2, []), (3, []), (4, ["shipping has read landing"])])
def test_inputs_beyond_their_table_are_refused(project: Project, layout: Layout, upto: int, found: list[str]) -> None:
    group(layout, upto, made(layout.landing("shipping")))
    assert told(project, layout) == found


def test_inputs_of_a_table_that_is_gone_are_refused(project: Project, layout: Layout) -> None:
    group(layout, 3, "x")
    assert told(project, layout) == ["shipping has read landing"]


def test_versions_of_a_table_that_was_reset_are_not_compared(project: Project, layout: Layout) -> None:
    made(layout.landing("shipping"), 1)
    group(layout, 3, "the id of the former one")
    assert told(project, layout) == []


def test_lookups_count_until_the_batch_is_finished(project: Project, layout: Layout) -> None:
    made(layout.landing("shop"))
    log = InputLog(layout.checkpoint("shop"))
    log.record(Inputs(3, snapshots={"bronze.customers": 9, "gone.table": 2}))
    unfinished = told(project, layout)
    log.finish(3)
    assert (unfinished, told(project, layout)) == (["shop has read bronze.customers"], [])


@pytest.mark.parametrize(("upto", "found"), [(3, []), (4, [f"shipping has written {STATE}"])])
def test_table_older_than_its_query_is_refused(project: Project, layout: Layout, upto: int, found: list[str]) -> None:
    landed, state = made(layout.landing("shipping")), made(layout.changes(STATE))
    group(layout, 3, landed, (Position(STATE, upto, state),))
    assert told(project, layout) == found


def test_another_table_than_the_one_written_is_refused(project: Project, layout: Layout) -> None:
    landed, state = made(layout.landing("shipping")), made(layout.changes(STATE))
    group(layout, 3, landed, (Position(STATE, 3, state),))
    trees.remove(layout.changes(STATE))
    made(layout.changes(STATE), 5)
    assert told(project, layout) == [f"{STATE} is not the"]


def test_note_of_an_old_run_is_taken_as_it_is(project: Project, layout: Layout) -> None:
    group(layout, 3, made(layout.landing("shipping")))
    (layout.checkpoint("shipping") / "inputs" / "finished").write_text("7")
    assert InputLog(layout.checkpoint("shipping")).is_finished(7)
    assert told(project, layout) == []


@pytest.mark.parametrize(("upto", "found"), [(4, []), (5, ["calls has read landing"])])
def test_checkpoint_ahead_of_its_source_is_refused(
    project: Project, layout: Layout, upto: int, found: list[str]
) -> None:
    checkpoint(layout, upto, made(layout.landing("calls")))  # the offset is the place before a version
    assert told(project, layout) == found


@pytest.mark.parametrize(("begun", "found"), [(2, []), (1, ["gold.calls holds batch 2"])])
def test_checkpoint_older_than_its_table_is_refused(
    project: Project, layout: Layout, begun: int, found: list[str]
) -> None:
    path = layout.table("gold.calls")
    made(path, 2)
    SyntheticTable(path, 2).commit([], {"query": "calls", "batch": 2})
    SyntheticTable(path, 2).commit([], {"upkeep": "compaction"})
    checkpoint(layout, 0, "x", begun)
    assert told(project, layout) == found


@pytest.mark.parametrize("kind", ["late", "failed"])
def test_checkpoint_older_than_rows_that_were_kept_out_is_refused(project: Project, layout: Layout, kind: str) -> None:
    path = layout.late("gold.calls") if kind == "late" else layout.failed("calls")
    made(path, 1)
    SyntheticTable(path, 1).commit([], {"query": "calls", "batch": 2})
    folder = checkpoint(layout, 0, "x", 1)
    assert told(project, layout) == [f"bronze.{kind}_rows of gold.calls holds"]
    (folder / "offsets" / "2").write_bytes((folder / "offsets" / "1").read_bytes())
    assert told(project, layout) == []


@pytest.mark.parametrize(("upto", "found"), [(3, []), (4, ["calls has written gold.calls"])])
def test_table_older_than_its_checkpoint_is_refused(
    project: Project, layout: Layout, upto: int, found: list[str]
) -> None:
    table_id = made(layout.table("gold.calls"))
    note_written(checkpoint(layout, 0, "x"), Position("gold.calls", upto, table_id))
    assert told(project, layout) == found


def test_extent_of_what_is_missing_is_empty(tmp_path: Path) -> None:
    assert Extent.of(tmp_path / "nothing") == Extent(-1, None)


@pytest.mark.parametrize("query", ["shipping", "calls"])
def test_query_has_read_another_table_once_its_source_is_reset_or_restored(
    project: Project, layout: Layout, query: str
) -> None:
    """A rebuild of it cannot go on, and begins from scratch."""
    landed = made(layout.landing(query))
    record = group if query == "shipping" else checkpoint
    record(layout, 3, landed)
    before = [*positions.have_read_others(project, layout)]
    trees.remove(layout.landing(query))
    gone = [*positions.have_read_others(project, layout)]
    made(layout.landing(query))
    assert (before, gone, [*positions.have_read_others(project, layout)]) == ([], [query], [query])
