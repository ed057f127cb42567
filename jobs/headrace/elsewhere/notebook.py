"""A project's SQL in a notebook: the text of any model, or any query like one, as a batch over what is stored."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from headrace.checking import verdict
from headrace.errors import InvalidProject, UsageError
from headrace.project import graph, loader
from headrace.project.flows import versions
from headrace.project.model import Input, Model, Project
from headrace.project.sql import sqltext
from headrace.project.sql.guard import routines
from headrace.queries.sources import Tables
from headrace.reading.stored import names, unknown
from headrace.spark import session as sessions
from headrace.spark.binding import Binder, at_moment

_CURRENT: ContextVar[Notebook | None] = ContextVar("notebook", default=None)


class Notebook:
    """A project and a Spark session; nothing is written."""

    def __init__(self, spark: SparkSession, project: Project) -> None:
        layout = project.target.layout
        layout.data_dir.mkdir(parents=True, exist_ok=True)
        self.project = project
        self.spark = sessions.child(spark, "notebook", project.macros)
        self._tables = Tables(self.spark, project, layout, verdict.schemas(spark, project))

    def sql(self, text: str) -> DataFrame:
        """The rows of a query written as in a model file, with its header or without.

        A table is read as it is now, with the word `stream` or without: a streamed upsert gives its changes,
        and a WATERMARK clause means nothing. A snapshot is taken now.
        """
        project = at_moment(self.project, datetime.now(timezone.utc))
        return Binder(self.spark, project, self._stored).run(self._model(text, project.vars))

    def table(self, name: str) -> DataFrame:
        """The rows of a table as they are now."""
        return self.sql(f"select * from {name}")

    def _model(self, text: str, values: Mapping[str, Any]) -> Model:
        found = sqltext.read(text, "notebook")
        if refused := [*routines.findings(found.unexplained, self.project.functions), *found.costs.findings]:
            raise InvalidProject(refused)
        inputs = versions.resolved_inputs(found.inputs, graph.by_table(self.project.models))
        for table in {ref.table for ref in inputs} - {*names(self.project)}:
            raise unknown(self.project, table)
        for name in {parameter.name for parameter in found.parameters} - values.keys():
            raise UsageError(f"no variable {name}; there are {', '.join(values)}")
        return Model(
            layer="gold",
            name="notebook",
            domain="notebook",
            path="notebook",
            text=text,
            description="",
            materialized="view",
            run="streaming" if found.has_watermark else "micro_batch",
            query=None,
            inputs=inputs,
            parameters=tuple(parameter.name for parameter in found.parameters),
            intervals=found.intervals,
            lists=found.lists,
        )

    def _stored(self, ref: Input) -> DataFrame:
        table = self._tables.of(ref)
        version = table.newest_version()
        if self._is_changes(ref):
            rows = table.snapshot(self.spark) if version >= 0 else table.no_rows(self.spark)
            return self._tables.relation(ref, rows)
        return self._tables.as_of(ref, version)

    def _is_changes(self, ref: Input) -> bool:
        in_bronze = ref.table.startswith("bronze.")
        return ref.stream and not in_bronze and self.project.model(ref.table).materialized == "upsert"


def session(project: str | Path = ".", target: str = "local") -> Notebook:
    """Open the project in or above a folder for one target; `sql` queries it from now on."""
    declared = loader.load(Path(project), target)
    layout = declared.target.layout
    opened = Notebook(sessions.start(declared.target, layout.spark_log()), declared)
    _CURRENT.set(opened)
    return opened


def sql(text: str) -> DataFrame:
    """Run a query on the project that was opened last; the one here, if none was."""
    return (_CURRENT.get() or session()).sql(text)
