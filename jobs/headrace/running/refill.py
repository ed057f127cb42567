"""Fills the tables of a rebuild: its queries process all landed records again, up to where the running ones are."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from datetime import datetime, timezone

from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from headrace.project import rebuilds
from headrace.project.model import Project
from headrace.project.rebuilds import Rebuild
from headrace.queries.group import Group
from headrace.queries.inputs import InputLog, Inputs
from headrace.running import factory
from headrace.running.tasks.task import Log
from headrace.streaming.query import StreamedQuery


class Refill:
    """The queries of a rebuild, filled one after another in the order in which they depend on each other."""

    def __init__(
        self, spark: SparkSession, project: Project, rebuild: Rebuild, schemas: Mapping[str, StructType], log: Log
    ) -> None:
        self.rebuild = rebuild
        self._spark = spark
        self._project = project
        self._schemas = schemas
        self._log = log
        self._live = project.target.layout
        self._layout = rebuilds.beside(self._live, rebuild, project.queries)

    def run(self, stop: threading.Event, everything: bool = False) -> Rebuild | None:
        """Catch up with the running queries, or with `everything` that has landed; None if stopped before that."""
        Rebuild(self.rebuild.queries).write(self._live)  # until it is done, its tables are at no known batch
        reached = {} if everything else self._reached()
        for query in self._project.queries:
            if query.name in self.rebuild.queries:
                query_beside = factory.make(self._spark, self._project, self._layout, query, self._schemas)
                query_beside.create_tables()
                if isinstance(query_beside, Group):
                    _limit(query_beside, reached.get(query.name))
                    self._fill_group(query_beside, stop)
                elif isinstance(query_beside, StreamedQuery):
                    self._fill_streamed(query_beside, stop)
        if stop.is_set():
            return None
        batches = {name: inputs.batch for name, inputs in reached.items()}
        filled = Rebuild(self.rebuild.queries, datetime.now(timezone.utc).isoformat(timespec="seconds"), batches)
        filled.write(self._live)
        return filled

    def _reached(self) -> Mapping[str, Inputs]:
        """What each running query has read so far; unknown for one in the streaming engine."""
        logs = {name: InputLog(self._live.checkpoint(name)).last_finished() for name in self.rebuild.queries}
        return {name: inputs for name, inputs in logs.items() if inputs is not None}

    def _fill_group(self, group: Group, stop: threading.Event) -> None:
        try:
            while not stop.is_set() and (report := group.step(self._project.target.max_rows)):
                self._log("rebuilt", query=group.query.name, batch=report.batch, rows=report.input_rows)
            group.rest()
        finally:
            group.drop()

    def _fill_streamed(self, query: StreamedQuery, stop: threading.Event) -> None:
        running = query.start(available_now=True)
        while not stop.is_set() and not running.awaitTermination(1):
            pass
        if (error := running.exception()) is not None:
            raise error
        query.stop()
        if query.current:
            query.current.store()
        self._log("rebuilt", query=query.model.name, batch=query.progress.get("batchId"))


def _limit(group: Group, reached: Inputs | None) -> None:
    """Let a group read no further than another has; versions of a table recreated since then mean something else."""
    for name, (_, upto) in (reached.ranges if reached else {}).items():
        source = group.sources.get(name)
        if reached and source is not None and source.table.id() == reached.ids.get(name):
            source.limit = upto
