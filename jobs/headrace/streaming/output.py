"""What becomes of the batches of a query of Spark's streaming engine: each is written once."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timezone
from typing import Any

from headrace.project.model import Model
from headrace.queries.batch_tests import QueryTests
from headrace.spark.materialized import Materialized
from headrace.spark.session import SMALL_BATCH_ROWS
from headrace.spark.small_batches import SmallBatches
from headrace.spark.streaming.batch_plan import BatchPlan
from headrace.store.paths import StorePath
from headrace.streaming import positions
from headrace.streaming.late import LateRows
from headrace.streaming.streams import Streams
from headrace.tables.commit_cache import CommitCache
from headrace.tables.delta import CommitTable
from headrace.tables.positions import Position


class StreamedOutput:
    """The table of one query, its late rows and those that fail tests: both of these are stored before the others."""

    def __init__(
        self,
        model: Model,
        batches: SmallBatches,
        table: CommitTable,
        late: LateRows,
        tests: QueryTests,
        streams: Streams,
        checkpoint: StorePath,
    ) -> None:
        self.table = table
        self.late = late
        self.tests = tests
        self.failed: Counter[str] = Counter()
        self.commit_cache = CommitCache()  # a run puts the one there that all its queries share
        self._model = model
        self._batches = batches
        self._streams = streams
        self._checkpoint = checkpoint
        self._id: str | None = None
        self._replays = True
        self._tested = False

    def create(self) -> None:
        """Create the tables that are missing, so that readers find them before the first row."""
        self.table.create()
        self.late.table.create()
        self.tests.create()
        self._id = self.table.id()

    def begin(self) -> None:
        """Prepare for the first batch after a start, which may be there already."""
        self._replays, self._tested = True, False
        self.late.load()

    def newest_batch(self) -> int:
        """The newest batch of which anything is stored."""
        tables = (self.table, self.late.table, self.tests.table)
        found = (table.newest_marker(self._model.name) for table in tables)
        return max((newest.batch for newest in found if newest), default=-1)

    def write(self, rows: Materialized, plan: BatchPlan, batch: int) -> None:
        """Append a batch once: only the first after a start can be a repetition, so only then is it looked up."""
        if not self._is_written(batch):
            self._keep_late(plan, batch)
            if rows.count:
                self._append(self._accepted(rows, batch), plan, batch)

    def _keep_late(self, plan: BatchPlan, batch: int) -> None:
        """Before the output: of a batch that is repeated because this was not done, the output is not there yet."""
        recent = self._streams.recent_output
        late = plan.late(recent.folder if recent and not recent.is_empty else None)
        if late is not None:
            self.late.add(late, batch)

    def _append(self, accepted: Materialized, plan: BatchPlan, batch: int) -> None:
        """Commit the rows of a batch that are to be stored."""
        if accepted.count:
            marker: dict[str, Any] = {"query": self._model.name, "batch": batch, "rows": accepted.count}
            marker |= {"inputs": {"ranges": self._streams.ranges(batch)}}
            marker["watermark"] = plan.closed_before
            if accepted.count <= SMALL_BATCH_ROWS:
                accepted = self._batches.put("rows", accepted)
            version = self.table.append(accepted, marker)
            positions.note_written(self._checkpoint, Position(self._model.table, version, self._id))
            self.commit_cache.put(self.table.path, version, accepted)
            if self._streams.recent_output:
                self._streams.recent_output.add(version)
        self.tests.settle({self._model.table: accepted}, batch)
        accepted.release()

    def _is_written(self, batch: int) -> bool:
        if not self._replays:
            return False
        self._replays = False
        newest = self.table.newest_marker(self._model.name)
        return newest is not None and newest.batch >= batch

    def _accepted(self, rows: Materialized, batch: int) -> Materialized:
        """The rows whose keys are whole and that pass the model's data tests; the others are stored first."""
        accepted, tests = self.tests.acceptable(self._model.table, rows), self.tests.models.get(self._model.table)
        if tests is not None:
            if not self._tested:
                tests.load(self.table, batch)
                self._tested = True
            passed = tests.accepted(accepted.frame, self._streams.rows_of)
            accepted = tests.unrepeated(self._batches.materialize(passed))
        marker = {"query": self._model.name, "batch": batch}
        self.failed.update(self.tests.commit(batch, datetime.now(timezone.utc).isoformat(), marker, replay=True))
        return accepted
