"""A Delta table with a long past, made without Spark: a row and a commit for each batch."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from deltalake import DeltaTable, Schema

from headrace.store import durable, parquet
from headrace.store.commits import MARKER, entry_path, newest_version
from headrace.store.delta_tables import create_table

COLUMNS = pa.schema([("id", pa.string()), ("at", pa.timestamp("us", "UTC")), ("_batch", pa.int64())])


@dataclass
class SyntheticTable:
    """The table in a folder; its batches are numbered from 0, and version 0 has none."""

    path: Path
    batches: int = 0

    @classmethod
    def at(cls, path: Path) -> SyntheticTable:
        """A new one."""
        properties = {"delta.appendOnly": "true", "delta.deletedFileRetentionDuration": "interval 1 hours"}
        create_table(path, Schema.from_arrow(COLUMNS), properties)
        return cls(path)

    def append(self, batches: int) -> None:
        """Commit so many batches of two rows."""
        for _ in range(batches):
            batch, self.batches = self.batches, self.batches + 1
            rows = [{"id": f"é{batch}-{n}", "at": batch * 1_000_000, "_batch": batch} for n in range(2)]
            name = f"batch-{batch}/part-0.parquet"
            written = parquet.write(self.path, name, pa.Table.from_pylist(rows, COLUMNS))
            self.commit([written.to_add()], {"query": "q", "batch": batch, "rows": 2, "inputs": {"at": "x" * 200}})

    def commit(self, actions: Iterable[object], marker: object) -> None:
        """Write the next entry of the log."""
        info = {"timestamp": 0, "operation": "WRITE", "userMetadata": json.dumps({MARKER: marker})}
        lines = [json.dumps(each) for each in ({"commitInfo": info}, *actions)]
        durable.write_new(entry_path(self.path, newest_version(self.path) + 1), "\n".join(lines) + "\n")

    @property
    def ids(self) -> list[str]:
        """All rows, as a foreign reader finds them."""
        return sorted(DeltaTable(self.path).to_pyarrow_table(columns=["id"]).column("id").to_pylist())

    @property
    def log(self) -> list[Path]:
        return sorted((self.path / "_delta_log").iterdir())

    @property
    def files(self) -> list[Path]:
        """The data files that lie there."""
        return sorted(file for file in self.path.rglob("*.parquet") if not {"_delta_log", "_history"} & {*file.parts})


def ids(batches: int) -> list[str]:
    """The rows of the first batches."""
    return sorted(f"é{batch}-{n}" for batch in range(batches) for n in range(2))
