"""Files that somebody has put beside ours, such as copies and notes, change nothing and stay."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.planning import declared
from headrace.planning.declared import Declared
from headrace.project import skips
from headrace.queries.inputs import InputLog, Inputs
from headrace.store.commits import entry_path
from headrace.store.history import History
from headrace.store.layout import Layout
from headrace.store.maintenance.passes import Maintenance, Policy
from headrace.store.paths import StorePath
from tests import buckets
from tests.unit.synthetic_table import SyntheticTable, ids

NAMES = ("README.json", "7 (copy).json", "7~.json", "7.bak", "0-x.parquet", "notes-of-mine.parquet", "7.1.x.json", "7x")


@pytest.fixture(params=["disk", "bucket"])
def root(request: pytest.FixtureRequest, tmp_path: Path) -> StorePath:
    return tmp_path if request.param == "disk" else buckets.in_memory() / "data"


def litter(folder: StorePath) -> set[str]:
    for name in NAMES:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("not ours")
    return {*NAMES}


def names(folder: StorePath) -> set[str]:
    return {file.name for file in folder.glob("*")}


def test_beside_recorded_inputs(root: StorePath) -> None:
    log = InputLog(root)
    log.record(Inputs(3))
    log.revise(Inputs(3, {"a": (1, 2)}))
    left = litter(root / "inputs")
    assert InputLog(root).newest() == Inputs(3, {"a": (1, 2)})
    assert left < names(root / "inputs")


def test_beside_notes_of_skipped_batches(tmp_path: Path, root: StorePath) -> None:
    layout = Layout(tmp_path, root)
    skip = skips.Skip("q", 10, "2026-11-30T00:00:00+00:00", {}, 1, ())
    skips.note(layout, skip)
    litter(layout.checkpoint("q") / "skipped")
    assert [*skips.noted(layout, ["q"])] == [skip]


def test_beside_declarations(tmp_path: Path, root: StorePath) -> None:
    layout = Layout(tmp_path, root)
    left = litter(layout.declared)
    for query in ("a", "b"):
        declared.write(layout, Declared((), (), (), {"v": query}), ["q"], {})
    assert names(layout.declared) - left == {f"{declared.recorded(layout)['q'].declared}.json"}
    assert left < names(layout.declared)


def test_in_a_table(tmp_path: Path) -> None:
    table = SyntheticTable.at(tmp_path)
    folders = (tmp_path, tmp_path / "_delta_log", tmp_path / "_history")
    left = [litter(folder) for folder in folders]
    for batches in (9, 18):
        table.append(9)
        assert Maintenance(tmp_path, Policy(0.0, kept=1, worth=1)).step() is not None
        assert (table.ids, History(tmp_path).upto >= batches - 1) == (ids(batches), True)
    assert not entry_path(tmp_path, 0).exists()
    assert all(some < names(folder) for some, folder in zip(left, folders, strict=True))
