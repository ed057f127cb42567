"""The same landed records processed in several cuts: the rows of each stored model at the end of each.

Landing batches, landing times and ticks are the same in all cuts; only which of them make up a micro-batch differs. So
all columns must be the same but `_batch`, the number of the micro-batch. Of an upsert the current rows are compared,
and the changes of each key where the cuts have as many at the same arrivals: a model may keep one change per batch. Of
a snapshot model the last snapshot is compared. A failed query does not stop the others.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from headrace.errors import HeadraceError
from headrace.project import graph
from headrace.project.model import Model, Project, Query
from headrace.queries.sources import stored
from headrace.store.layout import Layout
from headrace.testing.cases import values
from headrace.testing.cases.landing import Landed
from headrace.testing.cases.outcome import Outcome
from headrace.testing.cut_trials.cutting import Cutting
from headrace.testing.runs.disk import Process, land_batch
from headrace.testing.runs.sandbox import Sandbox


@dataclass(frozen=True)
class Rows:
    """What a model has at the end: its rows as JSON texts, or why there are none to compare.

    `changes` are those of an upsert, by key and arrival. `dropped` is how many rows came too late for it.
    """

    rows: Counter[str]
    changes: Mapping[str, str] = field(default_factory=dict)
    failure: str | None = None
    dropped: int = 0

    def differs(self, other: Rows) -> bool:
        """Whether two cuts give different rows, or different contents of the same changes."""
        same_events = self.changes.keys() == other.changes.keys()
        return (
            self.rows != other.rows or self.failure != other.failure or (same_events and self.changes != other.changes)
        )

    def beyond(self, other: Rows) -> list[str]:
        """The rows that the other lacks, else the changes."""
        if self.rows != other.rows:
            return [*(self.rows - other.rows).elements()]
        return [text for at, text in self.changes.items() if text != other.changes.get(at)]


@dataclass(frozen=True)
class Run:
    """Some queries of a project, over what has landed."""

    sandbox: Sandbox
    project: Project
    landed: Landed

    def rows(self, cutting: Cutting) -> Mapping[str, Rows]:
        """Process what has landed in a cut, and return the rows of each stored model."""
        layout = self.sandbox.layout(self.project)
        try:
            return _Cut(self, layout).rows(cutting)
        finally:
            shutil.rmtree(layout.data_dir, ignore_errors=True)

    def only(self, numbers: Sequence[int]) -> Run:
        """The same run over some of the landing batches."""
        return replace(self, landed=Landed(self.landed.within(numbers)))


class _Cut:
    """One cut being run."""

    def __init__(self, run: Run, layout: Layout) -> None:
        self._run = run
        self._layout = layout
        self._failures: dict[str, str] = {}
        self._dropped: Counter[str] = Counter()
        self._processes: dict[str, Process] = {}

    def rows(self, cutting: Cutting) -> Mapping[str, Rows]:
        try:
            for numbers in cutting.parts:
                self._step(numbers)
                if cutting.restarts:
                    self._stop()
        finally:
            self._stop()
        return {model.table: self._rows_of(query, model) for query in self._project.queries for model in query.models}

    @property
    def _project(self) -> Project:
        return self._run.project

    def _step(self, numbers: Sequence[int]) -> None:
        for batch in self._run.landed.within(numbers):
            land_batch(self._run.sandbox, self._layout, batch)
        for query in self._project.queries:
            if query.name not in self._failures:
                self._advance(query, numbers)

    def _advance(self, query: Query, numbers: Sequence[int]) -> None:
        try:
            if query.name not in self._processes:
                alone = replace(self._project, queries=(query,))
                self._processes[query.name] = Process(self._run.sandbox, alone, self._layout)
            self._processes[query.name].advance(self._run.landed.until(numbers))
        except (HeadraceError, PySparkException) as error:
            cause = (str(error).splitlines() or [type(error).__name__])[0]
            for name in graph.with_readers(self._project.queries, self._project.models, [query.name]):
                self._failures.setdefault(name, cause)

    def _stop(self) -> None:
        for name, process in self._processes.items():
            self._dropped[name] += process.dropped
            process.stop()
        self._processes.clear()

    def _rows_of(self, query: Query, model: Model) -> Rows:
        if query.name in self._failures:
            return Rows(Counter(), failure=self._failures[query.name])
        sandbox, schema = self._run.sandbox, self._run.sandbox.schemas(self._project)[model.table]
        stored_rows = stored(sandbox.spark, self._layout, model, schema).all_rows(sandbox.spark)
        rows = Counter(_text(row.asDict()) for row in _final(model, stored_rows).collect())
        per_event = model.materialized == "upsert" and model.run == "micro_batch"
        return Rows(rows, _changes(model, stored_rows) if per_event else {}, dropped=self._dropped[query.name])


def _final(model: Model, stored_rows: DataFrame) -> DataFrame:
    """The rows that a reader sees; of snapshots those of the last one."""
    if model.materialized == "snapshot":
        newest = stored_rows.agg(F.max("_batch")).collect()[0][0]
        return stored_rows.where(F.col("_batch") == F.lit(newest))
    return Outcome({model.table: stored_rows}).rows(model)


def _changes(model: Model, stored_rows: DataFrame) -> dict[str, str]:
    """The changes of an upsert by key and arrival; of a deletion, only its key and arrival."""
    at = [*model.unique_key, "_arrival"]
    whole, gone = stored_rows.where("not _deleted"), stored_rows.where("_deleted").select(*at)
    found = [row for rows in (whole, gone) for row in rows.collect()]
    return {_text({name: row[name] for name in at}): _text(row.asDict()) for row in found}


def _text(cells: Mapping[str, Any]) -> str:
    return values.found({name: value for name, value in cells.items() if name != "_batch"})
