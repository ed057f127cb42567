"""An append-only Delta table read commit by commit: one commit is one batch of one query."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from delta.tables import DeltaTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from headrace.errors import HeadraceError

MARKER = "headrace"
_PROPERTIES = {
    "delta.appendOnly": "true",
    "delta.checkpointInterval": "100",
    # The log is the order of arrival: readers walk it commit by commit, long after a commit is old.
    "delta.logRetentionDuration": "interval 3650 days",
}


@dataclass(frozen=True)
class Commit:
    """One version of a table: what its writer said of it and the data files it added."""

    version: int
    marker: Mapping[str, Any] = field(default_factory=dict)
    files: tuple[str, ...] = ()

    @property
    def batch(self) -> int:
        """The writer's number of this batch; -1 for a commit that is none."""
        return int(self.marker.get("batch", -1))

    @property
    def has_rows(self) -> bool:
        """Whether it holds rows for a reader: a batch, and not only a tick."""
        return self.batch >= 0 and not self.marker.get("tick", False)


class CommitTable:
    """A Delta table with one writer; every commit carries its writer's `{query, batch, ...}` marker."""

    def __init__(self, spark: SparkSession, path: Path, schema: StructType) -> None:
        self.spark = spark
        self.path = path
        self.schema = schema

    def create(self) -> None:
        """Create the table if it is missing and add columns that are new; anything else is refused."""
        create_plain(self.spark, self.path, self.schema, _PROPERTIES)
        self._evolve()

    def append(self, rows: DataFrame, marker: Mapping[str, Any]) -> int:
        """Append rows in one commit with this marker; return its version."""
        text = json.dumps({MARKER: dict(marker)}, separators=(",", ":"))
        rows.write.format("delta").mode("append").option("userMetadata", text).save(str(self.path))
        return self.version()

    def version(self) -> int:
        """The newest version this process has seen."""
        return int(self._log().unsafeVolatileSnapshot().version())

    def newest_version(self) -> int:
        """The newest version there is, whoever wrote it; -1 for a table that does not exist yet."""
        return int(self._log().update(False, self._none(), self._none()).version())

    def id(self) -> str:
        """The table's own id: a table that was dropped and made again has another."""
        return str(self._log().update(False, self._none(), self._none()).metadata().id())

    def commits(self, after: int) -> Iterator[Commit]:
        """Every commit newer than version `after`, oldest first, up to the newest now."""
        for version in range(after + 1, self.newest_version() + 1):
            yield self.commit(version)

    def commit(self, version: int) -> Commit:
        """Read one commit from the table's log; an error if the log no longer holds it."""
        actions = self._actions(version)
        info: dict[str, Any] = next((a["commitInfo"] for a in actions if "commitInfo" in a), {})
        marker = json.loads(info.get("userMetadata") or "{}").get(MARKER, {})
        added = tuple(a["add"]["path"] for a in actions if "add" in a and a["add"]["dataChange"])
        return Commit(version, marker, added)

    def newest_marker(self, query: str) -> Commit | None:
        """The newest commit written by `query`, walking back from the newest version."""
        for version in range(self.newest_version(), -1, -1):
            commit = self.commit(version)
            if commit.marker.get("query") == query:
                return commit
        return None

    def rows(self, session: SparkSession, *commits: Commit) -> DataFrame:
        """The rows that these commits added, read from their files without planning a table scan.

        Valid because the table is append-only, has no deletion vectors and keeps added files until
        maintenance has folded them away.
        """
        files = [self._absolute(name) for commit in commits for name in commit.files]
        if not files:
            return self.no_rows(session)
        return session.read.schema(self.schema).parquet(*files)

    def no_rows(self, session: SparkSession) -> DataFrame:
        """An empty frame of the table's schema."""
        return session.createDataFrame([], self.schema)

    def snapshot(self, session: SparkSession, version: int | None = None) -> DataFrame:
        """The whole table, now or as of a version."""
        reader = session.read.format("delta")
        if version is not None:
            reader = reader.option("versionAsOf", version)
        return reader.load(str(self.path))

    def _evolve(self) -> None:
        stored = self.spark.read.format("delta").load(str(self.path)).schema
        known = {f.name: f.dataType for f in stored}
        changed = [f.name for f in self.schema if f.name in known and known[f.name] != f.dataType]
        gone = [name for name in known if name not in self.schema.names]
        if changed or gone:
            raise HeadraceError(
                f"{self.path}: the stored table does not fit the model any more "
                f"(changed: {changed or 'none'}, gone: {gone or 'none'}); run `headrace reset` for its query"
            )
        if len(known) < len(self.schema):
            empty = self.spark.createDataFrame([], _nullable(self.schema))
            empty.write.format("delta").mode("append").option("mergeSchema", "true").save(str(self.path))

    def _actions(self, version: int) -> list[dict[str, Any]]:
        log = self._log()
        jvm: Any = self.spark._jvm
        file = jvm.org.apache.spark.sql.delta.util.FileNames.unsafeDeltaFile(log.logPath(), version)
        try:
            lines = log.store().read(file, log.newDeltaHadoopConf())
        except Exception as error:
            raise HeadraceError(f"{self.path}: version {version} is no longer in the table's log") from error
        return [json.loads(lines.apply(i)) for i in range(lines.size())]

    def _absolute(self, name: str) -> str:
        return f"{self.path}/{unquote(name)}"

    def _log(self) -> Any:
        jvm: Any = self.spark._jvm
        return jvm.org.apache.spark.sql.delta.DeltaLog.forTable(self.spark._jsparkSession, str(self.path))

    def _none(self) -> Any:
        jvm: Any = self.spark._jvm
        return jvm.scala.Option.empty()


def create_plain(
    spark: SparkSession, path: Path, schema: StructType, properties: Mapping[str, str] | None = None
) -> None:
    """Create a Delta table that is missing, without rows."""
    if not DeltaTable.isDeltaTable(spark, str(path)):
        empty = spark.createDataFrame([], _nullable(schema))
        empty.write.format("delta").options(**properties or {}).save(str(path))


def _nullable(schema: StructType) -> StructType:
    return StructType.fromJson(json.loads(schema.json().replace('"nullable":false', '"nullable":true')))


@dataclass(frozen=True)
class Materialized:
    """Rows computed once and kept in Spark's memory, with their number, until released."""

    frame: DataFrame
    count: int

    @property
    def partitions(self) -> int:
        """In how many pieces the rows are kept."""
        return int(self.frame._jdf.queryExecution().logical().rdd().getNumPartitions())

    def release(self) -> None:
        """Give the memory back; the frame must not be used any more."""
        self.frame._jdf.queryExecution().logical().rdd().unpersist(False)


def materialize(frame: DataFrame) -> Materialized:
    """Compute a frame now; its plan is cut, so plans never grow from batch to batch."""
    cut = frame.localCheckpoint(eager=False)  # the count computes and keeps every row: one job, not two
    return Materialized(cut, int(cut._jdf.queryExecution().logical().rdd().count()))


def count_where(rows: Materialized, condition: str) -> int:
    """How many rows hold a condition, in one stage: Spark's own count would shuffle."""
    return int(rows.frame.where(condition)._jdf.queryExecution().toRdd().count())


def with_batch(rows: DataFrame, batch: int) -> DataFrame:
    """Add the bookkeeping column that names the batch a row came from."""
    return rows.withColumn("_batch", F.lit(batch).cast("bigint"))
