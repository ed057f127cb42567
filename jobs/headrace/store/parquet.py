"""Data files: which ones a folder has, their sizes and numbers of rows, and the rows of several as one table."""

from __future__ import annotations

import io
import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from headrace.errors import TornFile
from headrace.store import durable
from headrace.store.json_files import RESTORE
from headrace.store.paths import ObjectPath, StorePath, reached

BATCH_COLUMNS = ("_batch", "landing_batch")
"""The column with the number of the batch that a row came with: the first of these that a table has."""

_GROUP_ROWS = 20_000
"""Rows of a row group: a reader of some batches skips the other groups."""


@dataclass(frozen=True)
class DataFile:
    """A Parquet file: its name within the table, its size in bytes, its time in milliseconds, its rows.

    `batches` are the column that numbers batches, the first and the last of them, if that is known.
    """

    name: str
    size: int
    modified: int
    rows: int
    batches: tuple[str, int, int] | None = None

    def of_batch(self, column: str | None, batch: int) -> DataFile:
        """The same file, with rows of one batch only."""
        return self if column is None else replace(self, batches=(column, batch, batch))

    def to_add(self, data_change: bool = True) -> Mapping[str, Any]:
        """The entry of the log for it, with statistics by which readers count and skip."""
        stats: dict[str, Any] = {"numRecords": self.rows}
        if self.batches is not None:
            column, first, last = self.batches
            stats |= {"minValues": {column: first}, "maxValues": {column: last}, "nullCount": {column: 0}}
        fields = {"path": self.name, "partitionValues": {}, "size": self.size, "dataChange": data_change}
        return {"add": {**fields, "modificationTime": self.modified, "stats": json.dumps(stats)}}


def files_in(folder: StorePath, rows: int | None = None) -> list[DataFile]:
    """The data files of a folder by name; a single one has `rows` rows if that is known, else its footer says so."""
    found = sorted(_on_disk(folder) if isinstance(folder, Path) else _in_bucket(folder), key=lambda each: each[0])
    known = rows if len(found) == 1 else None
    return [
        DataFile(f"{folder.name}/{name}", size, modified, rows_in(folder / name) if known is None else known)
        for name, size, modified in found
    ]


def joined(files: Iterable[StorePath]) -> pa.Table:
    """The rows of some files, one after the other; columns that some do not have are null there."""
    return pa.concat_tables((_read(file) for file in files), promote_options="default")


def row_groups(file: StorePath, numbers: Sequence[int]) -> pa.Table:
    """The rows of some row groups of a file; no others are read."""
    with reached(file), _whole(file):
        return parquet.ParquetFile(_opened(file)).read_row_groups(numbers)


def write(folder: StorePath, name: str, rows: pa.Table) -> DataFile:
    """Write rows into a file."""
    out = io.BytesIO()
    parquet.write_table(rows, out, compression="zstd", row_group_size=_GROUP_ROWS, coerce_timestamps="us")
    durable.write_bytes(folder / name, out.getvalue())
    return DataFile(name, len(out.getvalue()), int(time.time() * 1000), rows.num_rows, _batches(rows))


def _batches(rows: pa.Table) -> tuple[str, int, int] | None:
    column = next((name for name in BATCH_COLUMNS if name in rows.column_names), None)
    if column is None or rows.column(column).null_count or not rows.num_rows:
        return None
    found = pc.min_max(rows.column(column))
    return column, found["min"].as_py(), found["max"].as_py()


def _read(file: StorePath) -> pa.Table:
    source: Any = str(file) if isinstance(file, Path) else io.BytesIO(file.read_bytes())
    with _whole(file):
        return parquet.ParquetFile(source).read()


def _on_disk(folder: Path) -> Iterator[tuple[str, int, int]]:
    for file in folder.glob("*.parquet"):
        found = file.stat()
        yield file.name, found.st_size, int(found.st_mtime * 1000)


def _in_bucket(folder: StorePath) -> Iterator[tuple[str, int, int]]:
    assert isinstance(folder, ObjectPath)
    for each in folder.bucket.children(folder.key):
        name = each.key.rpartition("/")[2]
        if name.endswith(".parquet") and not each.is_folder:
            yield name, each.size, int(each.modified * 1000)


def rows_in(file: StorePath) -> int:
    """How many rows a file has, by its footer."""
    with reached(file), _whole(file):
        return int(parquet.read_metadata(_opened(file)).num_rows)


@contextmanager
def _whole(file: StorePath) -> Iterator[None]:
    """Call a file torn that is no whole Parquet file."""
    try:
        yield
    except (pa.ArrowInvalid, OSError) as error:
        if isinstance(error, OSError) and not _is_corrupt(error):
            raise
        raise TornFile(file, isinstance(file, Path) and not file.stat().st_size, RESTORE) from error


def _is_corrupt(error: OSError) -> bool:
    """Whether Arrow cannot make anything of what it has read; the system's own errors have a number or another type."""
    return type(error) is OSError and error.errno is None


def _opened(file: StorePath) -> Any:
    """A file that is read in pieces."""
    return _Ranges(file) if isinstance(file, ObjectPath) else file


class _Ranges(io.RawIOBase):
    """An object of a bucket, of which only those bytes are fetched that are read."""

    def __init__(self, file: ObjectPath) -> None:
        self._bucket, self._key = file.bucket, file.key
        self._size = self._bucket.size(self._key)
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        return self._at

    def tell(self) -> int:
        return self._at

    def readinto(self, buffer: Any) -> int:
        length = max(min(len(buffer), self._size - self._at), 0)
        if length:
            buffer[:length] = self._bucket.get_range(self._key, self._at, length)
            self._at += length
        return length
