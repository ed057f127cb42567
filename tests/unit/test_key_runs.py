"""Sorted runs of keys on a disk and on an object store, beside a set in memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest

from headrace.store.paths import StorePath, path_of
from headrace.tables.closed_keys import bloom
from headrace.tables.closed_keys import runs as key_files
from headrace.tables.closed_keys.runs import SCHEMA, Key, KeyRuns


@pytest.fixture(params=["disk", "bucket"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> StorePath:
    return tmp_path / "keys" if request.param == "disk" else path_of("memory:///") / "keys"


def keys(count: int, seed: int = 0) -> list[Key]:
    random = Random(seed)
    return [(random.getrandbits(64) - 2**63, random.getrandbits(64) - 2**63) for _ in range(count)]


def table(some: list[Key]) -> pa.Table:
    columns = [pa.array([key[each] for key in some], pa.int64()) for each in (0, 1)]
    return pa.table(columns, schema=SCHEMA)


def files(folder: StorePath) -> Iterator[str]:
    return (file.name for file in folder.glob("*"))


def test_stored_keys_are_found_and_no_others(folder: StorePath) -> None:
    stored, others = keys(30_000), keys(3_000, seed=1)
    runs = KeyRuns(folder, {"table": "t"})
    for batch in range(30):
        runs.add([table(stored[batch * 1_000 : (batch + 1) * 1_000])], batch + 1)
    again = KeyRuns(folder, {"table": "t"})
    assert again.open(30) == 30
    assert again.count == len(stored) and len(again.files) <= 6
    assert again.found([*stored, *others]) == {*stored}


def test_keys_with_one_fingerprint_alike_are_told_apart(folder: StorePath, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_files, "GROUP_KEYS", 2)
    stored = [(7, second) for second in range(9)] + [(first, 7) for first in range(-9, 9) if first != 7]
    runs = KeyRuns(folder, {})
    runs.add([table(stored)], 1)
    asked = [(first, second) for first in range(-10, 10) for second in range(-1, 10)]
    assert runs.found(asked) == {*stored}


def test_files_that_were_merged_are_gone(folder: StorePath) -> None:
    runs = KeyRuns(folder, {})
    for batch in range(20):
        runs.add([table(keys(10, seed=batch))], batch + 1)
    names = {file.name for file in runs.files}
    assert {*files(folder)} == {*names, *(name.replace("parquet", "bloom") for name in names), "manifest.json"}


def test_runs_are_not_merged_beyond_a_size(folder: StorePath, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_files, "RUN_KEYS", 100)
    runs = KeyRuns(folder, {})
    runs.replace([table(keys(60, seed=seed)) for seed in range(3)], 1)
    assert (len(runs.files), runs.count) == (3, 180)
    runs.replace([], 2)
    assert ([*files(folder)], runs.count) == (["manifest.json"], 0)


@pytest.mark.parametrize(("about", "before"), [({"table": "another"}, 9), ({"table": "t"}, 2)])
def test_what_is_of_something_else_or_ahead_is_not_read(folder: StorePath, about: dict[str, str], before: int) -> None:
    KeyRuns(folder, {"table": "t"}).add([table(keys(3))], 3)
    runs = KeyRuns(folder, about)
    assert (runs.open(before), runs.count) == (None, 0)


def test_filter_takes_two_bytes_a_key_and_is_seldom_wrong() -> None:
    stored, others = keys(4_096), keys(20_000, seed=1)
    first, second = (pa.array([key[each] for key in stored], pa.int64()) for each in (0, 1))
    found = bloom.filters_of(first, second, len(stored))
    assert len(found) <= 2 * len(stored)
    assert all(bloom.may_contain(found, 0, len(stored), key) for key in stored)
    assert sum(bloom.may_contain(found, 0, len(stored), key) for key in others) < 80
