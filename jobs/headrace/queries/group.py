"""A group of models run as one streaming query, micro-batch by micro-batch, in dependency order."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from headrace.errors import HeadraceError
from headrace.project import skips
from headrace.project.model import Project, Query
from headrace.queries import positions
from headrace.queries.batch_tests import QueryTests
from headrace.queries.inputs import InputLog, Inputs
from headrace.queries.intake import Intake
from headrace.queries.outputs import Output, UpsertOutput, commit, output_for
from headrace.queries.routine import Routine
from headrace.queries.sources import Source, Tables, records_in, weight_of
from headrace.queries.storing import StoringTimes
from headrace.spark.binding import reads_clock
from headrace.spark.implementations import small_batches
from headrace.spark.materialized import Materialized
from headrace.spark.session import SMALL_BATCH_ROWS, child
from headrace.spark.small_batches import SmallBatches
from headrace.store import durable
from headrace.store.commits import Commit
from headrace.store.layout import Layout
from headrace.tables.commit_cache import CommitCache
from headrace.tables.positions import Position

LOG_ROWS = 20


@dataclass(frozen=True)
class BatchReport:
    """What one micro-batch did."""

    batch: int
    input_rows: int
    output_rows: Mapping[str, int]
    seconds: float
    lines: tuple[str, ...] = ()
    failed: Mapping[str, int] = field(default_factory=dict)


class Group:
    """One micro-batch query: recorded inputs, SQL, outputs, then state.

    A batch is safe to repeat: its inputs are recorded first; a table that already holds the batch is not computed
    again but read back; everything a model looks up is as it stood before the batch.
    """

    def __init__(
        self,
        spark: SparkSession,
        project: Project,
        layout: Layout,
        query: Query,
        schemas: Mapping[str, StructType],
        batches: SmallBatches | None = None,
    ) -> None:
        """`batches` may come from a previous run of the same query, so that nothing has to be planned again."""
        self.query = query
        self.commit_cache = CommitCache()  # a run puts the one there that all its queries share
        self.on_commit: Callable[[str], None] = lambda table: None
        """Called with the name of each table that has new rows, as soon as it has them."""
        self.batches = batches or small_batches(child(spark, query.name, project.macros))
        self.session = self.batches.session
        self.outputs: dict[str, Output] = {
            m.table: output_for(self.batches, layout, m, schemas[m.table], project.macros) for m in query.models
        }
        self._project = project
        self._layout = layout
        self._ids: Mapping[str, str] = {}
        self.tests = QueryTests(self.batches, layout, query)
        self._checkpoint = layout.checkpoint(query.name)
        self._idle_note = self._checkpoint / "idle"
        self._inputs = InputLog(self._checkpoint)
        self._clocked = [model for model in query.models if reads_clock(project, model)]
        self._waits = False
        tables = Tables(self.session, project, layout, schemas)
        self._intake = Intake(project, query, tables, self._checkpoint, self.tests.looked_up)
        self._routine = Routine(project, query, self.batches, tables, self.outputs, self.tests)
        self._next = 0
        self._ready = False
        self._storing = StoringTimes.of(project, query)

    def create_tables(self) -> None:
        """Create what this group writes, so that readers find tables before the first row."""
        for output in self.outputs.values():
            output.create()
        self.tests.create()

    def step(self, max_rows: int) -> BatchReport | None:
        """Run the next micro-batch (first of all the last recorded one again); None when there is nothing to read."""
        try:
            if not self._ready:
                last = self.recover()
                if last:
                    return self._run(last, replay=True)
            inputs = self._intake.next(self._next, max_rows, self.takes_ticks)
            report = self._run(inputs, replay=False) if inputs else None
            if self._storing.is_due:
                self.store_current()
            return report
        except BaseException:
            self.drop()
            self._routine.forget()
            raise

    def store_current(self) -> None:
        """Let plain Delta readers see the current rows; the change log has had them all along."""
        upserts = [output for output in self.outputs.values() if isinstance(output, UpsertOutput)]
        with self._storing.measured():
            for output in upserts if self._ready else ():
                output.store_current(self._next - 1)
        self._storing.bytes = max((output.stored_bytes for output in upserts), default=0)

    def rest(self) -> None:
        """End cleanly: leave the current rows, and a note if nothing waits for time to pass."""
        self.store_current()
        if self._ready and not self._waits:
            self._checkpoint.mkdir(parents=True, exist_ok=True)
            durable.note(self._idle_note, "")

    def recover(self) -> Inputs | None:
        """Load all state as it stood before the last recorded batch, and return that batch's inputs.

        A batch of which everything is committed is not run again: its models may have another text by now.
        """
        self._idle_note.unlink(missing_ok=True)
        for fault in positions.faults(self._project, self._layout, self.query):
            raise HeadraceError(fault)
        self._ids = {table: output.table.id() for table, output in self.outputs.items()}
        last = self._last_inputs()
        is_finished = last is not None and self._inputs.is_finished(last.batch)
        self._next = last.batch + is_finished if last else 0
        self.batches.begin(self._next, self._rows_before(self._next))
        for output in self.outputs.values():
            output.load(self._next)
        self.tests.load({table: output.table for table, output in self.outputs.items()}, self._next)
        self._intake.resume(last, is_finished, self.tests.table, self._routine.steps)
        self._waits = self._has_waiting()
        self._ready = True
        if last is None or is_finished:
            return None
        skips.forget(self._layout, self.query.name, last.batch)
        return self._fitted(last)

    def _rows_before(self, batch: int) -> int:
        """An upper bound of the usual rows of an output before a batch; many where its log is too long to read here."""
        logs = [output.table.past(batch) for output in self.outputs.values()]
        return max((SMALL_BATCH_ROWS + 1 if log is None else weight_of(log) for log in logs), default=0)

    def _fitted(self, last: Inputs) -> Inputs:
        """The inputs of a batch to be run again, with what the models read since they were edited."""
        fitted = self._intake.fitted(last)
        if (fitted.ranges, fitted.snapshots) != (last.ranges, last.snapshots):
            self._inputs.revise(fitted)
        return fitted

    def drop(self) -> None:
        """Forget what is cached; the next step starts from the tables."""
        self._ready = False
        for output in self.outputs.values():
            # A failed batch may have left the cache half built; what matters is the failure that brought us here.
            with suppress(Exception):
                output.drop()
        with suppress(Exception):
            self.tests.drop()

    @property
    def sources(self) -> Mapping[str, Source]:
        """The tables of others that it streams."""
        return self._intake.sources

    @property
    def state_rows(self) -> int:
        """How many rows the upsert models of this group hold."""
        return sum(o.state.count for o in self.outputs.values() if isinstance(o, UpsertOutput))

    @property
    def waits(self) -> bool:
        """Whether rows wait for time to pass; before the first batch, whether they may have when the last run ended."""
        if not self._ready:
            return bool(self._clocked) and self._checkpoint.is_dir() and not self._idle_note.is_file()
        return self._waits

    @property
    def takes_ticks(self) -> bool:
        """Whether a tick alone makes a batch: not if there are lists of what waits, and all of them are empty."""
        return bool(self._clocked) and (self._waits or all(model.materialized != "upsert" for model in self._clocked))

    @property
    def is_new(self) -> bool:
        """Whether it has never begun a batch."""
        return self._inputs.newest() is None

    @property
    def looked_up(self) -> tuple[str, ...]:
        """The tables of other queries that its models look up."""
        return tuple(self._intake.lookups)

    @property
    def behind(self) -> int:
        """How many commits of its sources and requests this group has not taken yet, as far as this process knows."""
        return self._intake.behind

    def decide(
        self, read: Mapping[str, DataFrame], inputs: Inputs, done: Mapping[str, Commit] | None = None
    ) -> dict[str, Materialized]:
        """Compute a batch over the rows of those sources that have any. Writes nothing."""
        silent = frozenset(name for name in self.sources if name not in read)
        empty = {name: self.batches.nothing(name, self.sources[name].table.schema).frame for name in silent}
        return self._routine.decide({**read, **empty}, silent, inputs, done or {})

    def lines(self, added: Mapping[str, Materialized]) -> Iterator[str]:
        """The log lines of a batch's first rows, model by model."""
        for model in self.query.models:
            if model.log and added[model.table].count:
                rows, text = added[model.table].frame, model.log
                yield from json.loads(self.batches.text(f"{model.table} log", partial(_first_lines, rows, text), rows))

    def settle(self, added: Mapping[str, Materialized]) -> None:
        """Take a batch's committed rows into the state and give their memory back."""
        self.tests.settle(added, self._next)
        for table, rows in added.items():
            self.outputs[table].settle(rows)
            self.outputs[table].table.checkpoint()
            rows.release()
        self._waits = self._has_waiting()
        self._next += 1

    def _run(self, inputs: Inputs, replay: bool) -> BatchReport:
        started = time.monotonic()
        if not replay:
            self._inputs.record(inputs)
        commits = self._intake.commits(inputs)
        consumed = [commit for found in commits.values() for commit in found]
        self.batches.begin(inputs.batch, weight_of(consumed))
        commit_cache = CommitCache() if replay else self.commit_cache  # what failed may have failed for what lay there
        self._routine.share(commit_cache)
        read = self._intake.read(self.batches, commits, commit_cache)
        done = self._already_committed(inputs.batch) if replay else {}
        added = self.decide({name: rows.frame for name, rows in read.items()}, inputs, done)
        if self._routine.poison != inputs.poison:
            inputs = replace(inputs, poison=self._routine.poison)
            self._inputs.revise(inputs)  # before anything is written: whoever runs the batch again leaves out the same
        counts = {table: rows.count for table, rows in added.items()}
        failed = self._commit(added, inputs, done, replay)
        lines = tuple(self.lines(added))  # others wait for rows, but not for lines
        self._inputs.finish(inputs.batch, self._written())
        self.settle(added)
        self._intake.take(inputs)
        for rows in read.values():
            rows.release()
        again = len(inputs.redelivery.poison.arrivals) if inputs.redelivery else 0
        return BatchReport(
            inputs.batch, records_in(consumed) + again, counts, time.monotonic() - started, lines, failed
        )

    def _has_waiting(self) -> bool:
        lists = [self.outputs[model.table] for model in self._clocked]
        return any(isinstance(output, UpsertOutput) and not output.state.is_empty for output in lists)

    def _commit(
        self, added: Mapping[str, Materialized], inputs: Inputs, done: Mapping[str, Commit], replay: bool
    ) -> Mapping[str, int]:
        """Outputs before state: state that is ahead of its outputs would lose them. Failed rows before both.

        Of the outputs, those that are published come first, the smallest of them first: so others wait least for them.
        """
        marker = {"query": self.query.name, "batch": inputs.batch, "inputs": inputs.to_json()}
        failed = self.tests.commit(inputs.batch, inputs.at, marker, replay)
        for output in sorted(
            self.outputs.values(), key=lambda output: _commit_order(output, added[output.model.table].count)
        ):
            if output.model.table not in done:
                rows = added[output.model.table]
                version = commit(output, rows, marker)
                if version is not None:
                    self.commit_cache.put(output.table.path, version, rows)
                    self.on_commit(output.model.table)
        return failed

    def _written(self) -> Iterator[Position]:
        """The newest versions of the outputs that this query has seen."""
        return (Position(name, output.table.version(), self._ids.get(name)) for name, output in self.outputs.items())

    def _last_inputs(self) -> Inputs | None:
        """The newest recorded inputs: by the input log or, if that was lost, by what a commit says of them."""
        marks = (output.table.newest_marker(self.query.name) for output in self.outputs.values())
        committed = [Inputs.from_json(mark.marker["inputs"]) for mark in marks if mark]
        failed = self.tests.table.newest_marker(self.query.name)
        noted = [Inputs.from_json(failed.marker["inputs"])] if failed and "inputs" in failed.marker else []
        found = [*committed, *filter(None, [self._inputs.newest()]), *noted]
        return max(found, key=lambda inputs: inputs.batch, default=None)

    def _already_committed(self, batch: int) -> dict[str, Commit]:
        newest = {table: output.table.newest_marker(self.query.name) for table, output in self.outputs.items()}
        return {table: mark for table, mark in newest.items() if mark and mark.batch == batch}


def _commit_order(output: Output, rows: int) -> tuple[bool, bool, int]:
    """The sort key of an output with this many rows: smaller ones are committed first."""
    return isinstance(output, UpsertOutput), output.model.publish is None, rows


def _first_lines(rows: DataFrame, text: str) -> DataFrame:
    """The lines that a batch logs, in order of arrival, as a JSON array."""
    first = rows.orderBy("_arrival").limit(LOG_ROWS).select("_arrival", F.expr(text).cast("string").alias("line"))
    in_order = F.sort_array(F.collect_list(F.struct("_arrival", "line")))
    lines = F.filter(in_order.line, lambda line: F.length(line) > 0)
    return first.select(F.to_json(lines))
