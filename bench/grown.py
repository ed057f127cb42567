"""A Delta table that grows commit by commit without Spark: hours in minutes, with the product's maintenance."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet as files

from headrace.store.commits import MARKER, actions_of, entry_path, marker_of, newest_version
from headrace.store.delta_tables import open_table
from headrace.store.maintenance.passes import Maintenance, Policy, Upkeep
from headrace.store.parquet import BATCH_COLUMNS, DataFile


@dataclass
class Grown:
    """A table, its maintenance, its newest version, and the marker of its newest batch."""

    path: Path
    policy: Policy
    newest: int = -1
    marker: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._work = Maintenance(self.path, self.policy)
        self.newest = newest_version(self.path)
        batches = (marker_of(actions_of(self.path, version)) for version in range(self.newest, 0, -1))
        self.marker = next((each for each in batches if "batch" in each), {"batch": -1})

    @property
    def batch(self) -> int:
        """The number of the newest batch."""
        return int(self.marker["batch"])

    def append(self, added: pa.Table, **marker: object) -> int:
        """Commit rows as the next batch, which becomes their number; the version that this makes."""
        batch = self.batch + 1
        column = next(name for name in BATCH_COLUMNS if name in added.column_names)
        numbers = pa.array([batch] * added.num_rows, pa.int64())
        written = self.write(added.set_column(added.column_names.index(column), column, numbers))
        return self.commit([written.of_batch(column, batch).to_add()], **{**marker, "batch": batch})

    def replace(self, added: DataFile, **marker: object) -> int:
        """Commit a file in the place of all there are."""
        now = open_table(self.path).get_add_actions()
        names, sizes = (now.column(name).to_pylist() for name in ("path", "size_bytes"))
        gone = [{"path": name, "size": size, "dataChange": True} for name, size in zip(names, sizes, strict=True)]
        removed = [{"remove": {**each, "deletionTimestamp": added.modified}} for each in gone]
        return self.commit([*removed, added.to_add()], **marker)

    def write(self, rows: pa.Table) -> DataFile:
        """Write a data file; nobody here needs it to outlive a power loss."""
        name = f"batch-{uuid.uuid4().hex}.parquet"
        files.write_table(rows, self.path / name, compression="zstd")
        return DataFile(name, (self.path / name).stat().st_size, 0, rows.num_rows)

    def commit(self, actions: Iterable[Mapping[str, Any]], **marker: object) -> int:
        """Write the next entry of the log, with a marker that continues the last one."""
        self.marker = {**self.marker, **marker}
        info = {"timestamp": 0, "operation": "WRITE", "operationParameters": {}, "engineInfo": "headrace"}
        info |= {"txnId": uuid.uuid4().hex, "userMetadata": json.dumps({MARKER: self.marker})}
        self.newest += 1
        text = "".join(json.dumps(each) + "\n" for each in ({"commitInfo": info}, *actions))
        entry_path(self.path, self.newest).write_text(text)
        return self.newest

    def maintain(self) -> Upkeep | None:
        """Look whether there is something to do, as a run does once a minute."""
        done = self._work.step()
        self.newest = newest_version(self.path)
        return done

    @property
    def bytes(self) -> int:
        """What all of it takes on disk: rows, log, history, what was replaced and not removed yet."""
        return sum(file.stat().st_size for file in self.path.rglob("*") if file.is_file())

    @property
    def files(self) -> int:
        """How many files that is."""
        return sum(1 for file in self.path.rglob("*") if file.is_file())

    @property
    def rows_bytes(self) -> int:
        """What its rows take as one Parquet file, in order of arrival."""
        rows = open_table(self.path).to_pyarrow_table()
        column = next((name for name in BATCH_COLUMNS if name in rows.column_names), None)
        out = pa.BufferOutputStream()
        files.write_table(rows.sort_by(column) if column else rows, out, compression="zstd")
        return int(out.getvalue().size)
