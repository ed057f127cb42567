"""Late rows: what a streaming query dropped because it came too late, stored and counted, one table per model."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

from headrace.spark.columns import columns_of
from headrace.spark.implementations import materialize
from headrace.spark.materialized import with_batch
from headrace.spark.streaming.batch_plan import LATE_COLUMNS
from headrace.store.layout import Layout
from headrace.tables.delta import CommitTable


class LateRows:
    """The late rows of one model; a commit also says how many there are in all, so that counting reads no rows."""

    def __init__(self, session: SparkSession, layout: Layout, table: str) -> None:
        self.table = CommitTable(session, layout.late(table), columns_of({**LATE_COLUMNS, "_batch": "bigint"}))
        self.count = 0
        self._query = table.split(".")[1]
        self._newest = -1

    def load(self) -> None:
        """Continue from what is stored."""
        newest = self.table.newest_marker(self._query)
        self.count = int(newest.marker["total"]) if newest else 0
        self._newest = newest.batch if newest else -1

    def add(self, rows: DataFrame, batch: int) -> None:
        """Store the late rows of a batch, once; a batch without any writes nothing."""
        if batch <= self._newest:
            return
        found = materialize(with_batch(rows, batch))
        if found.count:
            self.count += found.count
            marker = {"query": self._query, "batch": batch, "rows": found.count, "total": self.count}
            self.table.append(found, marker)
            self._newest = batch
        found.release()
