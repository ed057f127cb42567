"""Data files of a folder, as an entry of the log describes them."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from headrace.store import parquet
from headrace.store.paths import StorePath, path_of


@pytest.fixture(params=["disk", "bucket"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> StorePath:
    return tmp_path / "batch-1" if request.param == "disk" else path_of("memory:///") / "batch-1"


def test_footers_say_how_many_rows_files_have(folder: StorePath) -> None:
    sizes = {f"part-{number}.parquet": number * 30_000 for number in range(3)}
    for name, rows in sizes.items():
        parquet.write(folder, name, pa.table({"n": range(rows)}))
    assert {each.name: each.rows for each in parquet.files_in(folder)} == {
        f"batch-1/{name}": rows for name, rows in sizes.items()
    }


def test_row_groups_are_read_alone(folder: StorePath) -> None:
    parquet.write(folder, "part.parquet", pa.table({"n": range(50_000)}))
    found = parquet.row_groups(folder / "part.parquet", [0, 2]).column("n").to_pylist()
    assert found == [*range(20_000), *range(40_000, 50_000)]
