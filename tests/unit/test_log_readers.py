"""Which part of a table's log somebody still needs."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from headrace.project import loader
from headrace.project.model import Project
from headrace.queries.inputs import InputLog, Inputs
from headrace.running import log_readers
from headrace.store.commits import put_entry
from headrace.store.layout import Layout
from headrace.streaming import source_names
from headrace.streaming.source_names import Read

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def project() -> Project:
    return loader.load(ROOT, "test")


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    return Layout(tmp_path)


def committed(layout: Layout, query: str, reads: list[Read], until: dict[str, int]) -> None:
    """A checkpoint of Spark's whose batch 4 is done, which began at the given versions."""
    checkpoint = layout.checkpoint(query)
    names = source_names.assigned(reads, {})
    source_names.note(checkpoint, names)
    offsets = {names[read.key]: until[read.key] for read in reads}
    (checkpoint / "offsets").mkdir(parents=True)
    (checkpoint / "commits").mkdir()
    for batch, further in ((3, 0), (4, 500)):
        places = {name: {"reservoirVersion": at + further, "index": -1} for name, at in offsets.items()}
        lines = (f"{name}:{json.dumps(place)}" for name, place in places.items())
        (checkpoint / "offsets" / str(batch)).write_text("\n".join(("v2", "{}", *lines)))
        (checkpoint / "commits" / str(batch)).write_text("v1\n{}")


def test_nobody_who_has_not_begun_needs_any(project: Project, layout: Layout) -> None:
    assert log_readers.bounds(project, layout, {}) == {}


def test_stream_needs_what_it_has_not_read(project: Project, layout: Layout) -> None:
    read, ticks = Read("bronze.call_analytics"), Read("bronze.call_analytics_ticks")
    committed(layout, "calls", [read, ticks], {read.key: 71, ticks.key: 70})
    assert log_readers.bounds(project, layout, {}) == {layout.landing("calls"): 69}


def test_stream_that_has_ended_no_batch_needs_all(project: Project, layout: Layout) -> None:
    (layout.checkpoint("calls") / "offsets").mkdir(parents=True)
    source_names.note(layout.checkpoint("calls"), source_names.assigned([Read("bronze.call_metrics")], {}))
    assert log_readers.bounds(project, layout, {}) == {layout.landing("calls"): 0}


def test_ticks_of_a_view_are_those_of_its_landing(project: Project, layout: Layout) -> None:
    read = Read("silver.sales_ticks")
    committed(layout, "sales_per_minute", [read], {read.key: 9})
    assert log_readers.bounds(project, layout, {}) == {layout.landing("sales"): 8}


def test_version_that_the_last_batch_looked_up_is_needed(project: Project, layout: Layout) -> None:
    InputLog(layout.checkpoint("shop")).record(Inputs(3, snapshots={"bronze.customers": 40, "gone.table": 2}))
    assert log_readers.bounds(project, layout, {}) == {layout.landing("shop"): 40}


def test_query_that_is_not_selected_needs_as_much(project: Project, layout: Layout) -> None:
    read = Read("bronze.call_analytics")
    committed(layout, "calls", [read], {read.key: 71})
    assert log_readers.bounds(replace(project, queries=()), layout, {}) == {layout.landing("calls"): 70}


def test_least_of_several_counts(project: Project, layout: Layout) -> None:
    read = Read("bronze.call_analytics")
    committed(layout, "calls", [read], {read.key: 71})
    path = layout.landing("calls")
    assert log_readers.bounds(project, layout, {path: 5})[path] == 5
    assert log_readers.bounds(project, layout, {path: 500})[path] == 70


TABLES = ("silver.sales_totals", "bronze.sales")


def stored(layout: Layout, version: int, **marker: object) -> None:
    """A commit of sales that has landed."""
    add = {"add": {"path": f"{version}.parquet", "size": 20_000}}
    (layout.landing("sales") / "_delta_log").mkdir(parents=True, exist_ok=True)
    (layout.landing("sales") / f"{version}.parquet").touch()
    assert put_entry(layout.landing("sales"), version, [{"commitInfo": {"userMetadata": json.dumps(marker)}}, add])


@pytest.mark.parametrize(
    ("marker", "upto", "is_behind"),
    [
        ({"headrace": {"batch": 7, "records": 1}}, 0, True),
        ({"headrace": {"batch": 7, "records": 1}}, 1, False),
        ({"headrace": {"batch": 7, "records": 1, "tick": True}}, 0, False),
        ({"headrace": {"upkeep": True}}, 0, False),
    ],
)
@pytest.mark.parametrize("model", ["silver.sales_totals", "gold.sales_per_minute"])
def test_model_is_behind_if_rows_wait_for_it(
    model: str, marker: dict[str, object], upto: int, is_behind: bool, project: Project, layout: Layout
) -> None:
    stored(layout, 0, headrace={"batch": 6, "records": 1})
    stored(layout, 1, **marker)
    log = InputLog(layout.checkpoint("sales"))
    log.record(Inputs(3, {"_landing.sales": (-1, upto)}))
    log.finish(3)
    read = Read("bronze.sales")
    committed(layout, "sales_per_minute", [read], {read.key: upto - 499})
    assert log_readers.is_behind(project, layout, model, "bronze.sales") == is_behind


def test_nobody_waits_for_rows_of_the_same_batch_or_before_the_first(project: Project, layout: Layout) -> None:
    stored(layout, 0, headrace={"batch": 6, "records": 1})
    found = {table: log_readers.is_behind(project, layout, "gold.sales_notifications", table) for table in TABLES}
    assert found == dict.fromkeys(TABLES, False)
