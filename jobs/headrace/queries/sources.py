"""What a query consumes: tables read commit by commit, and tables looked up as of a version."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import LongType, StructType

from headrace.errors import Place
from headrace.landing.relations import bronze
from headrace.project.model import Input, Model, Project
from headrace.spark.columns import landing_schema
from headrace.spark.materialized import Materialized
from headrace.spark.small_batches import SmallBatches
from headrace.store.commits import Commit
from headrace.store.layout import Layout
from headrace.tables.commit_cache import CommitCache
from headrace.tables.delta import CommitTable
from headrace.tables.lookup import Lookup
from headrace.tables.state import Stored, changes_schema, newest_per_key
from headrace.tables.validity import all_versions


def source_name(project: Project, ref: Input) -> str:
    """Name of the table behind a reference: topics of one landing share one."""
    if not ref.table.startswith("bronze."):
        return ref.table
    landing, _ = project.topic(ref.table.split(".")[1])
    return f"_landing.{landing.name}"


def plain(table: str) -> Input:
    """A plain reference to a table that no model's text names."""
    return Input(table, False, 0, 0, Place(""), False)


class Tables:
    """The stored tables behind references, one object per table."""

    def __init__(
        self, session: SparkSession, project: Project, layout: Layout, schemas: Mapping[str, StructType]
    ) -> None:
        self._session = session
        self._project = project
        self._layout = layout
        self._schemas = schemas

    def of(self, ref: Input) -> CommitTable:
        """The append-only table that holds a reference's rows."""
        if ref.table.startswith("bronze."):
            landing, _ = self._project.topic(ref.table.split(".")[1])
            return CommitTable(self._session, self._layout.landing(landing.name), landing_schema())
        return stored(self._session, self._layout, self._project.model(ref.table), self._schemas[ref.table])

    def schema(self, table: str) -> StructType:
        """The columns of a model, without bookkeeping."""
        return self._schemas[table]

    def as_of(self, ref: Input, version: int) -> DataFrame:
        """What a plain read of a reference sees as of a version of its table; below 0, it does not exist yet."""
        table = self.of(ref)
        rows = table.snapshot(self._session, version) if version >= 0 else table.no_rows(self._session)
        if ref.table.startswith("bronze."):
            return self.relation(ref, rows)
        model = self._project.model(ref.table)
        if model.materialized != "upsert":
            return rows.drop("_batch")
        if ref.versions:
            return all_versions(rows, model.unique_key)
        return newest_per_key(rows, model.unique_key).where("not _deleted").drop("_deleted", "_batch")

    def lookup(self, batches: SmallBatches, ref: Input) -> Lookup | None:
        """The current rows of an upsert, for a query that looks them up in every batch; None for other tables."""
        model = None if ref.table.startswith("bronze.") else self._project.model(ref.table)
        if model is None or model.materialized != "upsert" or ref.versions:
            return None
        log, query = self.of(ref), model.query or model.name
        is_ours = model.run != "streaming"  # what Spark merges does not say of which log it is
        stored = Stored.beside(log, self._layout.table(model.table), query) if is_ours else None
        return Lookup(batches, log, stored, model.unique_key)

    def relation(self, ref: Input, rows: DataFrame) -> DataFrame:
        """A streamed reference's view of rows of its table."""
        if ref.table.startswith("bronze."):
            return bronze(rows, self._project.topic(ref.table.split(".")[1])[1])
        return rows.drop("_batch")


def stored(session: SparkSession, layout: Layout, model: Model, schema: StructType) -> CommitTable:
    """The append-only table of a model: its rows, or the change log of an upsert."""
    if model.materialized == "upsert":
        return CommitTable(session, layout.changes(model.table), changes_schema(schema))
    with_batch = StructType([*schema.fields]).add("_batch", LongType())
    return CommitTable(session, layout.table(model.table), with_batch)


@dataclass
class Source:
    """A table consumed in whole commits; `done` is the version up to which it has been.

    No batch reaches across `barrier`, the version up to which rows had been sent before a reset. With a `limit`,
    nothing after that version is read.
    """

    table: CommitTable
    done: int = -1
    barrier: int = -1
    limit: int | None = None

    def next_range(self, max_rows: int, ticks: bool = False) -> tuple[int, bool]:
        """Up to which version the next batch reads, and whether to skip.

        It reads at least one commit, then up to `max_rows`; large rows count as many.

        A range without batches (a table's creation, an upkeep commit) is skipped, not run as a batch; so are ticks
        for those who do not wait for time to pass.
        """
        upto, weight, empty = self.done, 0, True
        for commit in self.table.commits(self.done):
            weight += commit.weight
            if self.limit is not None and commit.version > self.limit:
                break
            if weight > max_rows and not empty:
                break
            upto, empty = commit.version, empty and not (commit.has_rows or (ticks and commit.batch >= 0))
            if upto == self.barrier and not empty:
                break
        return upto, empty

    def commits(self, after: int, upto: int) -> list[Commit]:
        """The commits of a recorded range."""
        return [self.table.commit(version) for version in range(after + 1, upto + 1)]

    def read(self, batches: SmallBatches, name: str, commits: list[Commit], cache: CommitCache) -> Materialized:
        """The rows of these commits, held in memory; they may have more columns than the table."""
        cached = cache.take(batches, name, self.table, commits)
        if cached is not None:
            return cached
        shared = cache.take_large(batches.session, self.table, commits)
        if shared is not None:
            return shared
        rows = self.table.rows(batches.session, *commits)
        return batches.compute(name, lambda: rows, rows)


def records_in(commits: Iterable[Commit]) -> int:
    """How many records commits say they hold."""
    return sum(commit.records for commit in commits)


def weight_of(commits: Iterable[Commit]) -> int:
    """How many rows of usual size commits amount to."""
    return sum(commit.weight for commit in commits)
