"""What a store holds after a power loss: all that somebody was told, nothing torn, and enough to go on from.

Each test runs a few steps, makes every state in which the disk may be left, and starts again from each.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any, cast

import pyarrow as pa
import pytest
from pyspark.sql.types import StructType

from headrace.environment import swap
from headrace.project import resets
from headrace.project.resets import ResetNote
from headrace.queries.inputs import InputLog, Inputs
from headrace.store.delta_tables import is_table, open_table
from headrace.store.history import commits_of
from headrace.store.layout import Layout
from headrace.store.maintenance.passes import Maintenance, Policy
from headrace.store.paths import StorePath
from headrace.tables.closed_keys.runs import SCHEMA, KeyRuns
from headrace.tables.delta import CommitTable
from tests import power
from tests.power import State, Step
from tests.unit.plain_rows import ROWS, Plain

WIDER = StructType([*ROWS.fields]).add("more", "string")


Left = tuple[State, int]
"""A state, and how many steps somebody was told of by then."""


class Query:
    """Lands batches, and copies them as a group does: inputs first, then the output, then a note."""

    def __init__(self, folder: Path) -> None:
        self.source = CommitTable(cast(Any, None), folder / "tables" / "_landing" / "s", ROWS)
        self.output = CommitTable(cast(Any, None), folder / "tables" / "gold" / "t", ROWS)
        self.log = InputLog(folder / "checkpoints" / "q")

    def start(self) -> None:
        for table in (self.source, self.output):
            table.create()

    def land(self, batch: int) -> None:
        found = self.source.newest_marker("ingest")
        if found is None or found.batch < batch:
            self.source.append(Plain.of(batch), {"query": "ingest", "batch": batch, "records": 2})

    def step(self, batch: int) -> None:
        last = self.log.newest()
        assert last is None or last.ranges["s"][1] <= self.source.newest_version(), "the position is ahead"
        if last is None or last.batch < batch:
            self.log.record(Inputs(batch, {"s": (batch, batch + 1)}))
        found = self.output.newest_marker("q")
        if found is None or found.batch < batch:
            assert not self.log.is_finished(batch), "a finished batch has no rows"
            self.output.append(Plain.of(batch), {"query": "q", "batch": batch, "rows": 2})
        self.log.finish(batch)

    def steps(self, batches: int) -> Iterator[Step]:
        yield self.start
        for batch in range(batches):
            yield lambda batch=batch: self.land(batch)
            yield lambda batch=batch: self.step(batch)


def rows(table: Path) -> list[int]:
    """What a foreign reader finds; it opens every file."""
    return sorted(open_table(table).to_pyarrow_table().column("n").to_pylist()) if is_table(table) else []


def first(batches: int) -> list[int]:
    return [*range(2 * batches)]


def after_each(folder: Path, steps: list[Step], check: Callable[[Path, int], object], most: int = 40) -> list[Left]:
    """Record steps in a folder, and check some of the states in which a power loss may leave it; return all."""
    folder.mkdir(exist_ok=True)
    states, copy = [*power.record(folder, steps).states().items()], folder.parent / "left"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("os.fsync", lambda descriptor: None)  # this time the power stays
        for state, told in Random(0).sample(states, min(most, len(states))):
            power.write(state, copy)
            check(copy, told)
            shutil.rmtree(copy)
    return states


def test_batches_go_on_from_whatever_is_left(tmp_path: Path) -> None:
    batches = 3

    def check(left: Path, told: int) -> None:
        landed, done = told // 2, max(told - 1, 0) // 2
        found = rows(left / "tables" / "_landing" / "s"), rows(left / "tables" / "gold" / "t")
        for are, least in zip(found, (landed, done), strict=True):
            assert are == first(len(are) // 2) and len(are) // 2 >= least
        query = Query(left)
        for step in query.steps(batches):
            step()
        assert rows(query.source.path) == rows(query.output.path) == first(batches)  # type: ignore[arg-type]

    states = after_each(tmp_path / "live", [*Query(tmp_path / "live").steps(batches)], check)
    assert len(states) > 1_000
    whole = power.read(tmp_path / "live")
    for state, told in states:
        assert power.committed(state, whole, "tables/_landing/s") >= min(told, 1) + told // 2
        assert power.committed(state, whole, "tables/gold/t") >= min(told, 1) + max(told - 1, 0) // 2


def test_maintenance_loses_no_rows_and_no_commits(tmp_path: Path) -> None:
    batches, table = 18, CommitTable(cast(Any, None), tmp_path / "live" / "t", ROWS)
    table.create()

    def maintain(path: StorePath) -> None:
        Maintenance(path, Policy(keep_history=0.0, kept=2, worth=1)).step()

    for batch in range(batches):
        table.append(Plain.of(batch), {"query": "q", "batch": batch, "rows": 2})
        if batch == 11:
            maintain(table.path)

    def check(left: Path, told: int) -> None:
        for _ in range(2):
            assert rows(left / "t") == first(batches)
            known = [commit.batch for commit in commits_of(left / "t") if commit.batch >= 0]
            assert known == [*range(batches)]
            maintain(left / "t")

    states = after_each(tmp_path / "live", [lambda: maintain(table.path)], check)
    for state, _ in states:
        entries = {name for name, _ in state if name.startswith("t/_delta_log/0") and name.endswith(".json")}
        begins_at_first = f"t/_delta_log/{0:020}.json" in entries
        assert not begins_at_first or {f"t/_delta_log/{at:020}.json" for at in range(batches)} < entries
    assert not table.begins_at_first and len(states) > 50


def test_change_of_columns_is_there_or_not(tmp_path: Path) -> None:
    table = tmp_path / "live" / "t"

    def start(path: Path, schema: StructType) -> CommitTable:
        made = CommitTable(cast(Any, None), path, schema)
        made.create()
        return made

    start(table, ROWS).append(Plain.of(0), {"query": "q", "batch": 0, "rows": 2})

    def check(left: Path, told: int) -> None:
        columns = [field.name for field in open_table(left / "t").schema().fields]
        assert columns == WIDER.names or (columns == ROWS.names and not told)
        start(left / "t", WIDER).append(Plain.of(1), {"query": "q", "batch": 1, "rows": 2})
        assert rows(left / "t") == first(2)

    after_each(tmp_path / "live", [lambda: start(table, WIDER)], check)


def test_keys_are_all_there_or_none(tmp_path: Path) -> None:
    def keys(folder: Path) -> KeyRuns:
        return KeyRuns(folder / "keys", {"of": "t"})

    def add(batch: int) -> None:
        runs = keys(tmp_path / "live")
        if batch:
            assert runs.open(batch) == batch
        runs.add([pa.Table.from_pylist([{"h1": batch, "h2": n} for n in range(3)], SCHEMA)], batch + 1)

    def check(left: Path, told: int) -> None:
        runs = keys(left)
        before = runs.open(3)
        assert (before or 0) >= told
        wanted = {(batch, n) for batch in range(before or 0) for n in range(3)}
        assert runs.found((batch, n) for batch in range(3) for n in range(3)) == wanted

    after_each(tmp_path / "live", [lambda: add(0), lambda: add(1), lambda: add(2)], check)


def test_reset_is_done_or_is_completed(tmp_path: Path) -> None:
    layout = Layout(tmp_path / "live")
    Query(layout.data_dir).start()
    table = layout.table("gold.t")

    def check(left: Path, told: int) -> None:
        here = Layout(left)
        resets.finish(here)
        is_noted = resets.read_note(here.checkpoint("q")).barrier == {"s": 7}
        assert is_noted == (not (left / "tables" / "gold" / "t").exists())
        assert is_noted or not told

    after_each(tmp_path / "live", [lambda: resets.reset(layout, "q", [table], ResetNote(barrier={"s": 7}))], check)


def test_swap_is_done_or_is_completed(tmp_path: Path) -> None:
    layout = Layout(tmp_path / "live")
    table, beside = layout.table("gold.t"), layout.rebuilds / "q"
    Query(layout.data_dir).start()
    begun = []

    def rebuild() -> None:
        new = CommitTable(cast(Any, None), beside / "tables" / "gold" / "t", ROWS)
        new.create()
        new.append(Plain.of(0), {"query": "q", "batch": 0, "rows": 2})

    def check(left: Path, told: int) -> None:
        here = Layout(left)
        is_begun = here.swap.is_file()
        begun.append(is_begun)
        if is_begun:
            find_again(here)
            swap.finish(here)
        kept = [rows(old / "tables" / "gold" / "t") for old in swap.retired(here)]
        assert kept == [[]] or (kept == [] and not is_begun and told < 2)
        assert rows(left / "tables" / "gold" / "t") == (first(1) if kept else [])
        assert not (kept and (left / "rebuild" / "q").exists()) and not here.swap.exists()

    steps: list[Step] = [rebuild, lambda: swap.swap(layout, beside, ["q"], [table], 1)]
    after_each(tmp_path / "live", steps, check, most=400)
    assert sum(begun) > 10


def find_again(layout: Layout) -> None:
    """Put the number that the new folder has in this copy into the journal."""
    note = json.loads(layout.swap.read_text("utf-8"))
    for path in note["places"]:
        (new,) = (place for place in (layout.data_dir / note["beside"] / path, layout.data_dir / path) if rows(place))
        note["places"][path] = new.stat().st_ino
    layout.swap.write_text(json.dumps(note))
