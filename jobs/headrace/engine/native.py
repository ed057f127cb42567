"""A model run by Spark's streaming engine: watermarks, windows, stream-stream joins."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.types import StructType

from headrace.engine import offset_log
from headrace.engine.binding import Binder, arguments, inputs_of, stored_inputs, view_of
from headrace.engine.delta import CommitTable, materialize, with_batch
from headrace.engine.session import child
from headrace.engine.sources import Tables, source_name, stored
from headrace.engine.statement import view_name
from headrace.engine.ticks import guarded, watermarked, with_ticks
from headrace.layout import Layout
from headrace.project.model import Input, Project, Query

_CONFS: Mapping[str, str] = {
    # Fixed by the first start: the number of state stores, and that sources go by name instead of by place.
    offset_log.PARTITIONS: "2",
    "spark.sql.streaming.queryEvolution.enableSourceEvolution": "true",
    "spark.sql.streaming.offsetLog.formatVersion": "2",
    "spark.sql.streaming.pollingDelay": "200ms",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


class NativeQuery:
    """One streaming-engine query and its table."""

    def __init__(
        self, spark: SparkSession, project: Project, layout: Layout, query: Query, schemas: Mapping[str, StructType]
    ) -> None:
        (self.model,) = query.models
        self.session = child(spark, query.name)
        self.sources = {source_name(project, ref) for ref in stored_inputs(project, query) if ref.stream}
        self.outputs = (self.model.table,)
        self.table: CommitTable = stored(self.session, layout, self.model, schemas[self.model.table])
        self._project = project
        self._checkpoint = layout.checkpoint(query.name)
        self._idle_note = self._checkpoint / "idle"
        self._tables = Tables(self.session, project, layout, schemas)
        self._replays = True
        self.running: StreamingQuery | None = None
        for key, value in _CONFS.items():
            self.session.conf.set(key, value)
        for macro in project.macros:
            self.session.sql(macro.text)

    def create_tables(self) -> None:
        """Create what this query writes, so that readers find a table before the first row."""
        self.table.create()

    def start(self, available_now: bool = False) -> StreamingQuery:
        """Start the query where its checkpoint says."""
        self._replays = True
        self._idle_note.unlink(missing_ok=True)
        offset_log.mend(self._checkpoint, _CONFS[offset_log.PARTITIONS])
        frame = self._frame()
        writer = frame.writeStream.foreachBatch(self._write).queryName(self.model.name)
        writer = writer.outputMode(self.model.output_mode).option("checkpointLocation", str(self._checkpoint))
        trigger = writer.trigger(availableNow=True) if available_now else writer.trigger(processingTime="0 seconds")
        self.running = trigger.start()
        return self.running

    def stop(self) -> None:
        """Stop between two batches."""
        if self.running is not None:
            self.running.stop()
            if self.progress and not self.state_rows:
                self._idle_note.touch()

    @property
    def watermark(self) -> datetime | None:
        """The event time before which rows come too late; None until there is one."""
        told = self.progress.get("eventTime", {}).get("watermark")
        moment = datetime.fromisoformat(told.replace("Z", "+00:00")) if told else None
        return moment if moment and moment.year > 1970 else None

    @property
    def waits(self) -> bool:
        """Whether rows wait for time to pass; of a query that has not started yet, whether they did when it ended."""
        if self.running is None:
            return self._checkpoint.exists() and not self._idle_note.exists()
        return self.state_rows > 0

    @property
    def state_rows(self) -> int:
        """How many rows wait in Spark's state store."""
        return sum(op["numRowsTotal"] for op in self.progress.get("stateOperators", []))

    @property
    def late(self) -> int:
        """How many rows the last batches dropped because the watermark had passed them."""
        dropped = 0
        for progress in self.running.recentProgress if self.running else []:
            dropped += sum(op["numRowsDroppedByWatermark"] for op in progress["stateOperators"])
        return dropped

    @property
    def progress(self) -> Mapping[str, Any]:
        """What Spark says of the last batch; empty before the first."""
        told = self.running.lastProgress if self.running else None
        return told or {}

    def _frame(self) -> DataFrame:
        """The model over streams; those with a watermark also carry the ticks of their landing."""
        binder = Binder(self.session, self._project, self._relation)
        columns = {found.ref: found.column for found in watermarked(self.model)}
        for ref in self.model.inputs:
            rows = binder.frame(ref)
            if ref in columns:
                rows = with_ticks(rows, self._ticks(ref), columns[ref])
            rows.createOrReplaceTempView(view_name(ref.table, ref.stream))
        return self.session.sql(guarded(self.model), args=arguments(self._project, self.model))

    def _relation(self, ref: Input) -> DataFrame:
        table = self._tables.of(ref)
        if not ref.stream:
            return self._tables.as_of(ref, table.newest_version())
        return self._tables.relation(ref, self._stream(table, ref.table))

    def _ticks(self, ref: Input) -> DataFrame | None:
        """The landing behind a reference once more, under a name of its own; None if it streams other tables."""
        view = view_of(self._project, ref)
        inputs = [r for r in inputs_of(self._project, view) if r.stream] if view else [ref]
        landed = [r for r in inputs if r.table.startswith("bronze.")]
        return self._stream(self._tables.of(landed[0]), f"{ref.table}_ticks") if landed else None

    def _stream(self, table: CommitTable, name: str) -> DataFrame:
        reader = self.session.readStream.format("delta").option("startingVersion", "0")
        return reader.name(name.replace(".", "_")).load(str(table.path))

    def _write(self, frame: DataFrame, batch: int) -> None:
        """Append a batch once: only the first after a start can be a repetition, so only then is it looked up."""
        rows = materialize(with_batch(frame, batch))  # also when it is not written: state needs every row computed
        if rows.count and not self._is_written(batch):
            marker = {"query": self.model.name, "batch": batch, "rows": rows.count}
            self.table.append(rows.frame.coalesce(1), marker)
        rows.release()

    def _is_written(self, batch: int) -> bool:
        if not self._replays:
            return False
        self._replays = False
        newest = self.table.newest_marker(self.model.name)
        return newest is not None and newest.batch >= batch
