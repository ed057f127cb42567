"""A model run by Spark's streaming engine: watermarks, windows, stream-stream joins."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from typing import Any

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.types import StructType

from headrace.errors import HeadraceError
from headrace.project.model import Project, Query
from headrace.project.resets import read_note
from headrace.queries.batch_tests import QueryTests
from headrace.queries.outputs import keyed_changes
from headrace.queries.scheduler import RANKS, Scheduler
from headrace.queries.sources import Tables, source_name, stored
from headrace.queries.storing import StoringTimes
from headrace.spark import error_names
from headrace.spark.binding import stored_inputs
from headrace.spark.implementations import small_batches
from headrace.spark.materialized import with_batch
from headrace.spark.session import child
from headrace.spark.streaming import reports
from headrace.spark.streaming.batch_plan import BatchPlan, SourceTime
from headrace.store import durable, trees
from headrace.store.layout import Layout
from headrace.store.paths import StorePath, spark_uri
from headrace.streaming import offset_log, positions
from headrace.streaming.late import LateRows
from headrace.streaming.output import StreamedOutput
from headrace.streaming.streams import Streams
from headrace.tables.commit_cache import CommitCache
from headrace.tables.current import CurrentTable

_CONFS: Mapping[str, str] = {
    # Fixed by the first start: the number of state stores, and that sources go by name instead of by place.
    offset_log.PARTITIONS: "2",
    "spark.sql.streaming.queryEvolution.enableSourceEvolution": "true",
    "spark.sql.streaming.offsetLog.formatVersion": "2",
    # One RocksDB for a join instead of four, and rows of state that are found to be damaged when they are read.
    "spark.sql.streaming.join.stateFormatVersion": "3",
    "spark.sql.streaming.stateStore.rowChecksum.enabled": "true",
    "spark.sql.streaming.pollingDelay": "200ms",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


_START_SECONDS = 60.0


class StreamedQuery:
    """One query of Spark's streaming engine: when it runs, and how far it is."""

    def __init__(
        self, spark: SparkSession, project: Project, layout: Layout, query: Query, schemas: Mapping[str, StructType]
    ) -> None:
        (self.model,) = query.models
        self._name = query.name
        self.storing = StoringTimes.of(project, query)
        self.session = child(spark, query.name, project.macros)
        refs = [*stored_inputs(project, query)]
        self.sources = {source_name(project, ref) for ref in refs if ref.stream}
        self.looked_up = tuple(ref.table for ref in refs if not ref.stream)
        self.outputs = (self.model.table,)
        self._batches = small_batches(self.session)
        table = stored(self.session, layout, self.model, schemas[self.model.table])
        is_upsert = self.model.materialized == "upsert"
        self.current = CurrentTable(self.session, layout, self.model, table.schema) if is_upsert else None
        self._checkpoint = layout.checkpoint(query.name)
        tables = Tables(self.session, project, layout, schemas)
        self._streams = Streams(self.session, project, self.model, table, tables, self._checkpoint)
        tests = QueryTests(self._batches, layout, query)
        late = LateRows(self.session, layout, self.model.table)
        self.output = StreamedOutput(self.model, self._batches, table, late, tests, self._streams, self._checkpoint)
        self._written = positions.written_by(layout, self.model)
        self._synced_at = trees.BEFORE_ALL
        self._idle_note = self._checkpoint / "idle"
        self._moved: dict[str, tuple[int, float]] = {}
        """Of each stream the newest event time, in milliseconds, and when it came, on the monotonic clock."""
        self._views: dict[str, str] = {}
        """The view behind each watermark of Spark's plans, by the node's id (see `BatchPlan`)."""
        self._stops = False
        self._started = threading.Event()
        self.scheduler = Scheduler(at_once=1)
        self._reported: Mapping[str, Any] = {}
        self.running: StreamingQuery | None = None
        for key, value in _CONFS.items():
            self.session.conf.set(key, value)
        self._reader = child(spark, query.name)
        self._reader.conf.set("spark.sql.streaming.unsupportedOperationCheck", "false")

    def share(self, commit_cache: CommitCache, scheduler: Scheduler) -> None:
        """Use what all queries of a run have in common."""
        self.output.commit_cache, self.scheduler = commit_cache, scheduler

    def create_tables(self) -> None:
        """Create what this query writes, so that readers find a table before the first row."""
        self.output.create()
        if self.current:
            self.current.create()

    def start(self, available_now: bool = False) -> StreamingQuery:
        """Start the query where its checkpoint says."""
        self._stops = False
        self._reported = {}
        self._started.clear()
        self.output.begin()
        self._idle_note.unlink(missing_ok=True)
        offset_log.mend(self._checkpoint, _CONFS[offset_log.PARTITIONS], self.output.newest_batch())
        self._note_synced()
        self.session.conf.set(offset_log.STATE_FORMAT, offset_log.state_format(self._checkpoint))
        frame = self._streams.frame()
        for fault in positions.faults(self._name, self._written, self._checkpoint, self._streams.paths):
            raise HeadraceError(fault)
        writer = frame.writeStream.foreachBatch(self._write).queryName(self.model.name)
        writer = writer.outputMode(self.model.output_mode).option("checkpointLocation", spark_uri(self._checkpoint))
        trigger = writer.trigger(availableNow=True) if available_now else writer.trigger(processingTime="0 seconds")
        self.running = trigger.start()
        self._started.set()
        return self.running

    def catch_up(self) -> None:
        """After a reset, read what was there by then before anything else lands: its rows were sent by a previous run.

        A failure occurs again, and is reported, when the query runs.
        """
        is_fresh = not (self._checkpoint / "offsets").is_dir()
        if is_fresh and read_note(self._checkpoint).barrier:
            with suppress(StreamingQueryException):
                self.start(available_now=True).awaitTermination()
            self.stop()

    def stop(self) -> None:
        """Stop between two batches.

        Spark's query is let go: it refers to this one, and no garbage collector sees a cycle through two heaps.
        """
        if self.running is not None:
            self._stops = True
            self.running.stop()
            reported = self.progress
            self.running = None
            self._note_synced()
            if reported and not self.state_rows:
                durable.note(self._idle_note, "")

    @property
    def watermark(self) -> datetime | None:
        """The event time before which rows come too late; None until there is one."""
        text = self.progress.get("eventTime", {}).get("watermark")
        moment = datetime.fromisoformat(text.replace("Z", "+00:00")) if text else None
        return moment if moment and moment.year > 1970 else None

    @property
    def waits(self) -> bool:
        """Whether rows wait for time to pass; of a query that has not started yet, whether they did when it ended."""
        if not self._streams.takes_ticks:
            return False
        if self.running is None:
            return (self._checkpoint / "offsets").is_dir() and not self._idle_note.is_file()
        return self.state_rows > 0

    @property
    def is_new(self) -> bool:
        """Whether it has never begun a batch."""
        return not (self._checkpoint / "offsets").is_dir()

    @property
    def compares_times(self) -> bool:
        """Whether its watermark is that of the slowest of several streams."""
        return self._streams.compares_times

    @property
    def pinned(self) -> Mapping[StorePath, int]:
        """The tables that it looks up, and the version as of which Spark does until it starts again."""
        return self._streams.pinned

    @property
    def state_rows(self) -> int:
        """How many rows wait in Spark's state store."""
        return sum(op["numRowsTotal"] for op in self.progress.get("stateOperators", []))

    @property
    def held_by(self) -> tuple[str, float] | None:
        """The stream whose event time is behind that of the others, and for how many seconds it has not moved."""
        moved = dict(self._moved)  # the query's own thread adds to it
        if not moved:
            return None
        stream = min(moved, key=lambda name: moved[name][0])
        return stream, time.monotonic() - moved[stream][1]

    @property
    def progress(self) -> Mapping[str, Any]:
        """What Spark reports of the last batch; empty before the first."""
        if running := self.running:  # another thread may stop it meanwhile
            self._reported = reports.newest(running, self._reported)
        return self._reported

    def _write(self, frame: DataFrame, batch: int) -> None:
        """Write a batch once it has a slot. What fails because the query is stopped is reported in one line."""
        try:
            with self.scheduler.slot(RANKS["streaming"]):
                self._write_now(frame, batch)
        except Exception:
            if self._stops:
                raise InterruptedError(error_names.STOPPED) from None
            raise

    def _write_now(self, frame: DataFrame, batch: int) -> None:
        """Write a batch, of which Spark has recorded what it reads."""
        for table in self._streams.tables:
            table.sound_version()  # Spark reads whatever is committed there
        self._sync_checkpoint()
        changes = keyed_changes(self.model, frame) if self.current else frame
        rows = self._batches.materialize(
            with_batch(changes, batch)
        )  # also when it is not written: state needs every row computed
        self.output.write(rows, self._plan(), batch)
        rows.release()

    def _sync_checkpoint(self) -> None:
        """Sync what Spark has recorded of this batch, and of the last one: a power loss then takes no more than one.

        That one is repeated, from the state of the batch before it.
        """
        since, self._synced_at = self._synced_at, trees.Instant.now()
        trees.sync_changed(self._checkpoint, since)

    def _note_synced(self) -> None:
        self._sync_checkpoint()
        offset_log.note_synced(self._checkpoint)

    def _plan(self) -> BatchPlan:
        """What Spark knows of the batch."""
        self._started.wait(_START_SECONDS)
        assert self.running is not None, "a batch of a query that did not start"
        plan = BatchPlan(self._reader, self.running, self._views)
        self._note_times(plan.source_times)
        return plan

    def _note_times(self, times: tuple[SourceTime, ...]) -> None:
        for each in times:
            stream = self._streams.table_of(each.stream)
            known = self._moved.get(stream)
            if known is None or (each.newest is not None and each.newest > known[0]):
                self._moved[stream] = (each.newest or 0, time.monotonic())
