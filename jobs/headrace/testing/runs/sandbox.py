"""The one Spark session of a test run, the analysed schemas of each project, and temporary folders."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from functools import cached_property
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import RLock
from typing import Any
from weakref import WeakKeyDictionary

from pyspark import SparkContext
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from headrace.checking import verdict
from headrace.project.model import Project, Query, SmallBatchMode, Target
from headrace.queries.group import Group
from headrace.running import factory
from headrace.running.factory import AnyQuery
from headrace.spark.columns import landing_schema
from headrace.spark.implementations import small_batches
from headrace.spark.materialized import Files
from headrace.spark.session import start
from headrace.spark.small_batches import SmallBatches
from headrace.store.layout import Layout
from headrace.streaming.query import StreamedQuery
from headrace.tables.delta import CommitTable
from headrace.testing.cases.landing import Judge, LandedBatch
from headrace.testing.runs.plan_pool import PlanPool

SMALL: Mapping[str, str] = {
    "spark.driver.defaultJavaOptions": "-XX:NewRatio=1",
    # A whole suite has more queries than any run, and garbage collection of a full heap never ends.
    "spark.driver.memory": "2g",
    # Tests are many small queries in a young JVM: planning and compiling cost more than any row.
    "spark.default.parallelism": "1",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.databricks.delta.snapshotPartitions": "1",
    # Every test has its own tables; Delta's cached logs of ten thousand fill the heap.
    "spark.databricks.delta.delta.log.cacheSize": "100",
}


class Sandbox:
    """Spark starts on first use; `close` ends it, if it was started here, and removes the folders."""

    def __init__(self, small_batches: SmallBatchMode = "auto") -> None:
        """`small_batches` is the mode of the session that is started here, unless one is there already."""
        self.small_batches = small_batches
        self._temporary = TemporaryDirectory(prefix="headrace-")
        self._folder = Path(self._temporary.name)
        self._spark: SparkSession | None = None
        self._is_ours = False
        self._schemas: dict[Any, Mapping[str, StructType]] = {}
        self._empty: dict[Any, Path] = {}
        self._numbers = count()
        self._files = WeakKeyDictionary[LandedBatch, Files]()
        self._plan_pool = PlanPool()
        self._judge: Judge | None = None
        self._making = RLock()  # cases run on threads

    @property
    def spark(self) -> SparkSession:
        """A session for small batches; an existing one is used as it is."""
        with self._making:
            if self._spark is None:
                found = SparkSession.getActiveSession()
                self._is_ours = SparkContext._active_spark_context is None
                self._spark = found or start(self._target, self._folder / "spark.log")
            return self._spark

    @property
    def _target(self) -> Target:
        confs: dict[str, Any] = {"spark_master": "local[2]", "spark_conf": SMALL, "compiler": "quick"}
        return Target("test", self._folder, small_batches=self.small_batches, **confs)

    @property
    def judge(self) -> Judge:
        """Gives records their landing columns."""
        with self._making:
            if self._judge is None:
                self._judge = Judge(self.spark)
            return self._judge

    def schemas(self, project: Project) -> Mapping[str, StructType]:
        """The schema of every model of a project; only the types of variables matter."""
        key = _identity(project)
        with self._making:
            if key not in self._schemas:
                self._schemas[key] = verdict.schemas(self.spark, project)
            return self._schemas[key]

    def layout(self, project: Project) -> Layout:
        """A new data directory, with all tables of a project, still empty."""
        key = _identity(project)
        with self._making:
            if key not in self._empty:
                self._empty[key] = self._new_folder()
                self._create_tables(project, Layout(self._empty[key]))
        folder = self._new_folder()
        shutil.copytree(self._empty[key], folder)
        return Layout(folder)

    def nowhere(self) -> Layout:
        """A data directory in which there is nothing, whatever the project's own holds."""
        return Layout(self._new_folder())

    def query(self, project: Project, layout: Layout, query: Query) -> AnyQuery:
        """A query that starts from its stored state only; to be released."""
        plans = self._plan_pool.acquire(self.spark, project, query) if query.engine == "micro_batch" else None
        return factory.make(self.spark, project, layout, query, self.schemas(project), plans)

    def release(self, query: AnyQuery) -> None:
        """End a query."""
        if isinstance(query, StreamedQuery):
            query.stop()
        else:
            query.drop()
        if isinstance(query, Group):
            self._plan_pool.release(query.batches)

    def landing_table(self, layout: Layout, landing: str) -> CommitTable:
        """The table in which a landing lands."""
        return CommitTable(self.spark, layout.landing(landing), landing_schema())

    def files_of(self, batch: LandedBatch) -> Files:
        """The files of a landing batch, to be copied wherever it lands."""
        with self._making:
            if batch not in self._files:
                rows, folder = self._landed.fill("landed", batch.rows, landing_schema()), self._new_folder()
                rows.write(folder)
                self._files[batch] = Files(rows.frame, len(batch.rows), folder)
            return self._files[batch]

    @cached_property
    def _landed(self) -> SmallBatches:
        return small_batches(self.spark)

    def close(self) -> None:
        """End what was started."""
        if self._spark is not None and self._is_ours:
            self._spark.stop()
        self._spark = None
        self._temporary.cleanup()

    def _create_tables(self, project: Project, layout: Layout) -> None:
        for landing in project.landings:
            self.landing_table(layout, landing.name).create()
        for each in project.queries:
            query = self.query(project, layout, each)
            query.create_tables()
            self.release(query)

    def _new_folder(self) -> Path:
        return self._folder / f"data-{next(self._numbers)}"


def _identity(project: Project) -> Any:
    types = tuple(sorted((name, type(value).__name__) for name, value in project.vars.items()))
    return project.root, tuple(model.table for model in project.models), types
