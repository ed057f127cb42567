"""Data files: which there are in a folder, how large they are, and how many rows they have."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import obstore
from pyarrow.parquet import read_metadata

from headrace.store.paths import ObjectPath, StorePath


@dataclass(frozen=True)
class DataFile:
    """A Parquet file: its name with that of its folder, its size in bytes, its time in milliseconds, its rows."""

    name: str
    size: int
    modified: int
    rows: int


def files_in(folder: StorePath, rows: int | None = None) -> list[DataFile]:
    """The data files of a folder by name; a single one has `rows` rows if that is known, else its footer says so."""
    found = sorted(_on_disk(folder) if isinstance(folder, Path) else _in_bucket(folder), key=lambda each: each[0])
    known = rows if len(found) == 1 else None
    return [
        DataFile(f"{folder.name}/{name}", size, modified, _rows(folder / name) if known is None else known)
        for name, size, modified in found
    ]


def _on_disk(folder: Path) -> Iterator[tuple[str, int, int]]:
    for file in folder.glob("*.parquet"):
        found = file.stat()
        yield file.name, found.st_size, int(found.st_mtime * 1000)


def _in_bucket(folder: StorePath) -> Iterator[tuple[str, int, int]]:
    assert isinstance(folder, ObjectPath)
    for each in obstore.list_with_delimiter(folder.bucket.client, folder.key)["objects"]:
        name = each["path"].rpartition("/")[2]
        if name.endswith(".parquet"):
            yield name, each["size"], int(each["last_modified"].timestamp() * 1000)


def _rows(file: StorePath) -> int:
    source: Any = file if isinstance(file, Path) else obstore.open_reader(file.bucket.client, file.key)  # type: ignore[attr-defined]
    return int(read_metadata(source).num_rows)
