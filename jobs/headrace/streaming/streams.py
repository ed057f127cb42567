"""The streams of a query in Spark's streaming engine: its text over tables that Spark reads as they grow."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.readwriter import DataStreamReader

from headrace.landing.clocks import key_of
from headrace.landing.ticks import guarded, watermarked, with_ticks
from headrace.project.model import Input, Model, Project
from headrace.project.statement import view_names
from headrace.queries.sources import Tables, plain, source_name
from headrace.spark.binding import Binder, arguments, inputs_of, seconds, streams_of, view_of
from headrace.spark.streaming import event_times
from headrace.store.paths import StorePath, spark_uri
from headrace.streaming import offset_log, source_names
from headrace.streaming.source_names import Read
from headrace.tables.delta import CommitTable
from headrace.tables.recent_output import RecentOutput


class Streams:
    """What one model reads, each stream under a name of its own, which the checkpoint keeps (`source_names`)."""

    def __init__(
        self,
        session: SparkSession,
        project: Project,
        model: Model,
        own: CommitTable,
        tables: Tables,
        checkpoint: StorePath,
    ) -> None:
        """`own` is the table of the model, `tables` are those that it may read."""
        self._session = session
        self._project = project
        self._model = model
        self._own = own
        self._tables = tables
        self._checkpoint = checkpoint
        self._watermarked = {found.ref: found for found in watermarked(model)}
        self._views = view_names(model)
        self._source_names: Mapping[str, str] = {}
        self._reads_so_far: list[Read] = []
        self._sources: dict[str, str] = {}
        self._stored: dict[str, CommitTable] = {}
        self.recent_output: RecentOutput | None = None
        """What the model has emitted lately, if it looks up its own table."""
        self.pinned: dict[StorePath, int] = {}
        """The tables that it looks up, and the version as of which Spark does until it starts again."""

    def frame(self) -> DataFrame:
        """The model over streams; those with a watermark also carry the ticks of their landing."""
        self._source_names = source_names.assigned(self._reads(), source_names.known(self._checkpoint))
        source_names.note(self._checkpoint, self._source_names)
        self._reads_so_far.clear()
        binder = self._binder = Binder(self._session, self._project, self._relation, apart=True)
        for ref, name in self._views.items():
            rows = binder.frame(ref)
            if found := self._watermarked.get(ref):
                rows = with_ticks(rows, self._ticks(ref), found, self._bronze(ref), key_of(self._project, found))
            rows.createOrReplaceTempView(name)
        text = guarded(self._model, self._views, self._project.vars)
        rows = self._session.sql(text, args=arguments(self._project, self._model, text))
        return event_times.one_for_each_side(self._session, rows)

    def ranges(self, batch: int) -> dict[str, tuple[int, int]]:
        """What all batches up to this one have read, in the form of other queries' markers."""
        until = offset_log.read_until(self._checkpoint, batch)
        return {self._sources[name]: (-1, version) for name, version in sorted(until.items(), key=lambda each: each[1])}

    def rows_of(self, table: str) -> DataFrame:
        """The rows of a table now, which a relationship looks up."""
        ref = plain(table)
        return self._tables.as_of(ref, self._tables.of(ref).sound_version())

    @property
    def tables(self) -> Collection[CommitTable]:
        """The tables behind the streams."""
        return self._stored.values()

    @property
    def paths(self) -> Mapping[str, StorePath]:
        """Where these tables are, by the names of their streams."""
        return {name: table.path for name, table in self._stored.items()}

    @property
    def compares_times(self) -> bool:
        """Whether the watermark is that of the slowest of several streams."""
        return len(self._watermarked) > 1

    @property
    def takes_ticks(self) -> bool:
        """Whether ticks move its watermark.

        They cannot where a query streams, beside what lands, a table: the watermark waits for that table too.
        """
        return all(self._landed(ref) == self._streamed(ref) for ref in self._watermarked)

    def table_of(self, view: str) -> str:
        """The table that a stream's view stands for, as the plan of a batch names it."""
        names = {self._views[ref]: ref.table for ref in self._watermarked}
        return names.get(view, view)

    def _reads(self) -> list[Read]:
        """Every stream that the query reads: tables, and the ticks of their landings."""
        streams = [Read(ref.table, through) for through, ref in streams_of(self._project, self._model)]
        ticks = [Read(f"{ref.table}_ticks") for ref in self._watermarked if self._landed(ref)]
        return [*source_names.numbered([*streams, *ticks])]

    def _relation(self, ref: Input) -> DataFrame:
        if ref.table == self._model.table:
            span = int(1000 * seconds(self._project, self._model.remember or 0))
            self.recent_output = RecentOutput(self._session, self._own, self._checkpoint / "told", span)
            return self.recent_output.load()
        table = self._tables.of(ref)
        if not ref.stream:
            self.pinned[table.path] = table.sound_version()
            return self._tables.as_of(ref, self.pinned[table.path])
        return self._tables.relation(ref, self._stream(ref, Read(ref.table, self._binder.through)))

    def _ticks(self, ref: Input) -> DataFrame | None:
        """The landing behind a reference once more, under a name of its own; None if it streams other tables."""
        landed = self._landed(ref)
        return self._stream(landed[0], Read(f"{ref.table}_ticks")) if landed else None

    def _bronze(self, ref: Input) -> list[str]:
        """The names of the sources behind a reference."""
        return [r.table.split(".")[1] for r in self._landed(ref)]

    def _landed(self, ref: Input) -> list[Input]:
        """The bronze tables behind a streamed reference."""
        return [r for r in self._streamed(ref) if r.table.startswith("bronze.")]

    def _streamed(self, ref: Input) -> list[Input]:
        view = view_of(self._project, ref)
        return [r for r in inputs_of(self._project, view) if r.stream] if view else [ref]

    def _stream(self, ref: Input, read: Read) -> DataFrame:
        """The table behind a reference; Spark knows the stream by a name of its own."""
        self._reads_so_far.append(read)
        *_, numbered = source_names.numbered(self._reads_so_far)
        own = self._source_names[numbered.key]
        self._sources[own] = source_name(self._project, ref)
        table = self._tables.of(ref)
        self._stored[own] = table
        return stream_of(self._session, table).name(own).load(spark_uri(table.path))


def stream_of(session: SparkSession, table: CommitTable) -> DataStreamReader:
    """How Spark's engine reads a table as it grows; rows that leave it by its `keep` are no news."""
    reader = session.readStream.format("delta").option("ignoreDeletes", "true")
    # A table whose log no longer goes back to its first commit is read as it is, and then what comes.
    return reader.option("startingVersion", "0") if table.begins_at_first else reader
