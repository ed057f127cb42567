"""Rows that are written without a JVM, in the form in which it writes them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
from pyarrow import parquet
from pyspark.sql.types import StructType

from headrace.spark.materialized import Materialized
from headrace.store.paths import StorePath

ROWS = StructType().add("n", "long").add("_batch", "long")


@dataclass(frozen=True)
class Plain(Materialized):
    """Rows that are written as the JVM does: into a new folder, without a sync."""

    rows: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, batch: int) -> Plain:
        return cls(cast(Any, None), 2, ((2 * batch, batch), (2 * batch + 1, batch)))

    def write(self, folder: StorePath) -> None:
        assert isinstance(folder, Path)
        folder.mkdir()
        columns = {
            name: pa.array(each, pa.int64())
            for name, each in zip(ROWS.names, zip(*self.rows, strict=True), strict=True)
        }
        parquet.write_table(pa.table(columns), folder / "part-00000.parquet")
        (folder / ".part-00000.parquet.crc").write_bytes(b"a checksum of Hadoop's")

    def release(self) -> None: ...

    def narrowed(self, fewer: Any) -> Materialized:
        raise NotImplementedError
