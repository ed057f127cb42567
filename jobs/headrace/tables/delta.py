"""An append-only Delta table read and written commit by commit: one commit is one batch of one query.

A commit is written as the Delta protocol describes it (writer version 2): data files first, by Spark, then one
entry of the log, which must not exist before. Spark's own Delta sink rebuilds the state of the table for every
commit, which no append needs (docs/speed.md).
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import takewhile
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from deltalake import DeltaTable, Schema
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from headrace.errors import HeadraceError, MissingFile, Overtaken, TornFile
from headrace.spark.columns import no_rows, nullable
from headrace.spark.materialized import Materialized, write_files
from headrace.store import damage, durable, parquet
from headrace.store.commits import (
    MARKER,
    Commit,
    actions_of,
    commit_of,
    info_of,
    put_entry,
)
from headrace.store.delta_tables import change_table, create_checkpoint, create_table, is_table, open_table
from headrace.store.parquet import BATCH_COLUMNS
from headrace.store.paths import ObjectPath, StorePath, spark_uri
from headrace.store.removal import drafts
from headrace.store.removal.data_files import ActiveFile, active_files
from headrace.tables import foreign
from headrace.tables.checksum import Checksum
from headrace.tables.commit_log import CommitLog
from headrace.tables.foreign import WRITER_VERSION

CHECKPOINT_INTERVAL = 100
_APPENDS_ONLY = "delta.appendOnly"
_COMMON = {
    "delta.checkpointInterval": str(CHECKPOINT_INTERVAL),
    # Maintenance removes what it has replaced; until then a checkpoint lists it.
    "delta.deletedFileRetentionDuration": "interval 1 hours",
}
_APPENDS = {
    **_COMMON,
    _APPENDS_ONLY: "true",
    # The log is the order of arrival: readers walk it commit by commit, long after a commit is old.
    "delta.logRetentionDuration": "interval 3650 days",
}


class CommitTable(CommitLog):
    """A Delta table whose commits carry their writer's `{query, batch, ...}` marker.

    A batch of a query is committed once, whoever runs it: a commit is written behind a version up to which all markers
    are known, and never in the place of another.
    """

    properties: Mapping[str, str] = _APPENDS
    is_replaced = False

    def __init__(self, spark: SparkSession, path: StorePath, schema: StructType) -> None:
        super().__init__(path)
        self.spark = spark
        self.schema = schema
        self._known = -1  # up to this version nobody has done what this writer cannot go on with
        self._summed: tuple[int, Checksum | None] = (-1, None)
        self._is_due = False  # a checkpoint of the log

    @staticmethod
    def stored(spark: SparkSession, path: StorePath) -> CommitTable | None:
        """A table with the columns that it has; None where there is none."""
        return CommitTable(spark, path, _stored_schema(open_table(path))) if is_table(path) else None

    def create(self) -> None:
        """Create the table if it is missing, else add columns that are new; anything else is refused."""
        if create_plain(self.path, self.schema, self.properties):
            self._newest = 0
            self._sum_up([])
        else:
            if isinstance(self.path, Path):  # whoever made the newest version may have died before this
                durable.sync([self.path / "_delta_log"])
            self.sound_version()
            self._evolve()

    def append(self, rows: DataFrame | Materialized, marker: Mapping[str, Any]) -> int:
        """Append rows in one commit with this marker; return its version."""
        self.checkpoint()
        self._commit([_info(marker, "Append"), *self._written(rows, int(marker.get("batch", -1)))], marker)
        return self._newest

    def note(self, marker: Mapping[str, Any], of_batch: bool = False) -> int:
        """Make a commit that has a marker and no rows; return its version.

        With `of_batch` it is about a batch that may be committed already.
        """
        self.checkpoint()
        self._commit([_info(marker, "Append")], marker, again=of_batch)
        return self._newest

    def checkpoint(self) -> None:
        """Write a checkpoint of the log if one is due, and the next commit need not: nobody waits for it."""
        if self._is_due:
            create_checkpoint(self.path)
        self._is_due = False

    def sound_version(self) -> int:
        """The newest version there is, as long as others have done nothing that forbids to read or write the table."""
        self.newest_version()
        self._refuse_harm()
        return self._newest

    def rows(self, session: SparkSession, *commits: Commit) -> DataFrame:
        """The rows that these commits added, read from their files without planning a table scan.

        Valid because the table is append-only, has no deletion vectors and keeps added files until maintenance has
        folded them away. Those of past commits are found in the whole table by the numbers of their batches.
        """
        commits = tuple(map(self.as_stored, commits))
        files = [f"{spark_uri(self.path)}/{unquote(name)}" for commit in commits for name in commit.files]
        past = [commit.batch for commit in commits if commit.is_past and commit.added_rows]
        if not past:
            return session.read.schema(self.schema).parquet(*files) if files else self.no_rows(session)
        old = self._of_batches(session, past)
        return old.unionByName(session.read.schema(self.schema).parquet(*files)) if files else old

    def as_stored(self, commit: Commit) -> Commit:
        """A commit with files that can be read, or a past one if others have made its files one and removed them.

        TornFile if one is damaged, or gone although nobody has replaced it. Files of a bucket are not looked at.
        """
        try:
            damage.refuse(self.path, [commit])
        except MissingFile:
            if not self._is_rewritten(commit):
                raise
            return commit.as_past
        return commit

    def _is_rewritten(self, commit: Commit) -> bool:
        """Whether the rows of a commit are all there, those of its files that are gone in others that replaced them."""
        names, replaced = {*commit.files}, dict[str, bool]()
        with suppress(FileNotFoundError):  # the log begins later
            for version in range(commit.version + 1, self.newest_version() + 1):
                removed = [each["remove"] for each in actions_of(self.path, version) if "remove" in each]
                replaced |= {each["path"]: not each.get("dataChange", True) for each in removed}
        gone = {name for name in names if not (self.path / unquote(name)).is_file()}
        return gone <= replaced.keys() and all(replaced.get(name, True) for name in names)

    def _of_batches(self, session: SparkSession, batches: Sequence[int]) -> DataFrame:
        """The rows of some batches, wherever they are stored."""
        first, last, number = min(batches), max(batches), self._batch_column
        if number is None:
            raise HeadraceError(f"{self.path}: its old rows have no number of their batch, so they cannot be found")
        rows = self.snapshot(session).where(F.col(number).between(first, last))
        if last - first >= len({*batches}):
            rows = rows.where(F.col(number).isin([*batches]))
        return rows.select(*self.schema.names)

    @property
    def _batch_column(self) -> str | None:
        """The column with the number of the batch that a row came with."""
        return next((name for name in BATCH_COLUMNS if name in self.schema.names), None)

    def no_rows(self, session: SparkSession) -> DataFrame:
        """An empty frame of the table's schema."""
        return no_rows(session, self.schema)

    def snapshot(self, session: SparkSession, version: int | None = None) -> DataFrame:
        """The whole table, now or as of a version."""
        reader = session.read.format("delta")
        if version is not None:
            reader = reader.option("versionAsOf", version)
        return reader.load(spark_uri(self.path))

    def all_rows(self, session: SparkSession) -> DataFrame:
        """All rows there are, read from their files: for few commits, as Spark's own reading of the log is slow."""
        return self.rows(session, *self.commits(-1))

    def before(self, session: SparkSession, batch: int) -> DataFrame:
        """All rows of the batches before one; the table has the column `_batch`."""
        past = self.past(batch)
        return self.snapshot(session).where(F.col("_batch") < batch) if past is None else self.rows(session, *past)

    def between(self, session: SparkSession, after: int, before: int) -> DataFrame:
        """All rows of the batches after one and before another; the table has the column `_batch`."""
        commits = self._between(after, before)
        if len(commits) <= CHECKPOINT_INTERVAL:
            return self.rows(session, *commits)
        files = [f"{spark_uri(self.path)}/{unquote(each.name)}" for each in self._holding(after, before)]
        rows = session.read.schema(self.schema).parquet(*files) if files else self.no_rows(session)
        return rows.where((F.col("_batch") > after) & (F.col("_batch") < before))

    def _holding(self, after: int, before: int) -> Iterator[ActiveFile]:
        """The files that may hold rows of batches after one and before another; Spark takes seconds to find them."""
        for each in active_files(open_table(self.path)):
            if each.last < 0 or (each.last > after and each.first < before):
                yield each

    def has_between(self, after: int, before: int) -> bool:
        """Whether there are rows of batches after one and before another."""
        return any(commit.added_rows for commit in self._between(after, before))

    def _between(self, after: int, before: int) -> list[Commit]:
        """The commits of these batches, oldest first: read from the newest back, and no further than they go."""
        numbered = (
            commit for version in range(self.newest_version(), 0, -1) if (commit := self.commit(version)).batch >= 0
        )
        newer = takewhile(lambda commit: commit.batch > after, numbered)
        return [commit for commit in newer if commit.batch < before][::-1]

    def past(self, batch: int) -> list[Commit] | None:
        """The commits of the batches before one; None if they are too many, or not all there is."""
        if not batch:
            return []
        if self.newest_version() > CHECKPOINT_INTERVAL:
            return None
        commits = list(self.commits(0))  # version 0 made the table
        return None if any(commit.batch < 0 for commit in commits) else [c for c in commits if c.batch < batch]

    def _evolve(self) -> None:
        table = open_table(self.path)
        if table.protocol().min_writer_version > WRITER_VERSION:
            raise HeadraceError(
                f"{self.path}: somebody has given the table features that headrace does not write "
                f"(writer version {table.protocol().min_writer_version}); recreate it with `headrace reset`"
            )
        stored = table.metadata().configuration
        # A table that has once lost rows to its `keep` is not for appends only any more.
        fixed = {name: value for name, value in self.properties.items() if name != _APPENDS_ONLY or name not in stored}
        known = {f.name: f.dataType for f in _stored_schema(table)}
        wanted = {f.name: f.dataType for f in nullable(self.schema)}  # as it was created
        changed = [name for name in wanted if name in known and known[name] != wanted[name]]
        gone = [name for name in known if name not in self.schema.names]
        if changed or gone:
            raise HeadraceError(
                f"{self.path}: the stored table does not fit the model any more "
                f"(changed: {changed or 'none'}, gone: {gone or 'none'}); run `headrace reset` for its query"
            )
        more = [field for field in nullable(self.schema) if field.name not in known]
        if more or fixed.items() - stored.items():
            columns = StructType([*_stored_schema(table), *more])
            change_table(self.path, fixed, Schema.from_json(columns.json()))

    def _commit(self, actions: list[Mapping[str, Any]], marker: Mapping[str, Any], again: bool = False) -> None:
        """Write the next entry of the log, whole or not at all; Overtaken if the batch is there already."""
        if self._is_out_of_sight:
            self.newest_version()
        self._refuse_harm()
        self._refuse_done(marker, again)
        self._refuse_overdue(actions)
        while not put_entry(self.path, self._newest + 1, whole := [*actions, *self._replaced()]):
            self.newest_version()
            self._refuse_harm()
            self._refuse_done(marker, again)
        self._newest += 1
        self._is_due |= self._newest % CHECKPOINT_INTERVAL == 0
        self._known = self._newest
        self._marked[str(marker.get("query"))] = (self._newest, commit_of(self._newest, whole))
        self._sum_up(whole)

    def _replaced(self) -> Iterator[Mapping[str, Any]]:
        """The log's entries for what a commit behind the newest version removes."""
        return iter(())

    def _refuse_harm(self) -> None:
        """Refuse to go on after what others have done to the table since a writer of headrace looked last.

        Whoever has committed has looked; so nothing is read beyond the newest commit of a writer.
        """
        since: list[tuple[int, list[dict[str, Any]]]] = []
        for version in range(self._newest, max(self._known, 0), -1):
            actions = self._unjudged(version)
            if actions is None or foreign.is_own(actions):
                break
            since.append((version, actions))
        for version, actions in reversed(since):
            what = foreign.harm(actions, self.schema, self.is_replaced, may_lack=self._known < 0)
            if what := what or self._lost(actions):
                raise foreign.refusal(self.path, version, actions, what, self.way_out)
        self._known = self._newest

    def _lost(self, actions: Iterable[Mapping[str, Any]]) -> str | None:
        """What the vacuum of another tool has removed although it holds rows of the table; None if nothing."""
        if not foreign.is_vacuum(actions):
            return None
        names = (unquote(each.name) for each in active_files(open_table(self.path)))
        gone = next((name for name in names if not (self.path / name).is_file()), None)
        return gone and f"has removed its data file {gone}"

    def _unjudged(self, version: int) -> list[dict[str, Any]] | None:
        """The actions of a version; None if maintenance has noted it: what is left of the log was written after it."""
        try:
            return actions_of(self.path, version)
        except FileNotFoundError:
            self._past = (0.0, None)
            if self.is_replaced or version <= self._history().upto:
                return None
            raise foreign.gap(self.path, version) from None

    def _refuse_done(self, marker: Mapping[str, Any], again: bool) -> None:
        """Refuse a batch that its query has committed, or has left behind."""
        query, batch = marker.get("query"), int(marker.get("batch", -1))
        found = self._newest_of(str(query)) if query is not None and batch >= 0 else None
        if found is not None and (found.batch > batch if again else found.batch >= batch):
            raise Overtaken(f"{self.path}: batch {batch} of {query} is committed already; another runner runs it")

    def _refuse_overdue(self, actions: Iterable[Mapping[str, Any]]) -> None:
        """Refuse files that were written so long ago that maintenance may take them for those of a killed writer."""
        began = info_of(actions)["timestamp"] / 1000
        if any("add" in each for each in actions) and time.time() - began > drafts.SAFE_SECONDS / 2:
            raise Overtaken(f"{self.path}: the files of a batch were not committed for half a day; it runs again")

    def _sum_up(self, actions: list[Mapping[str, Any]]) -> None:
        """Write the checksum of the version just made; readers do without one that is missing.

        On an object store they do: each batch would wait for one more put of each of its tables.
        """
        if isinstance(self.path, ObjectPath):
            return
        at, former = self._summed
        is_next = former is not None and at == self._newest - 1
        checksum = former.after(actions) if former and is_next else Checksum.of(open_table(self.path), self._newest)
        self._summed = (self._newest, checksum)
        if checksum is not None:
            durable.note(self._log / f"{self._newest:020}.crc", checksum.to_json())

    def _written(self, rows: DataFrame | Materialized, batch: int = -1) -> Iterator[Mapping[str, Any]]:
        """Write the rows of a batch to files of their own; return the log's entries for them."""
        folder = self.path / f"batch-{uuid.uuid4().hex}"
        if isinstance(rows, Materialized):
            rows.write(folder)
        else:
            write_files(rows, folder)
        count = rows.count if isinstance(rows, Materialized) else None
        found = parquet.files_in(folder, count)
        if count and not found:
            raise HeadraceError(f"{folder}: {count} rows were written, and no file is there; nothing was committed")
        return (file.of_batch(self._batch_column if batch >= 0 else None, batch).to_add() for file in found)


class ReplacedTable(CommitTable):
    """A Delta table whose rows are replaced by others, all at once."""

    properties = _COMMON
    is_replaced = True
    way_out = foreign.REMAKE

    def replace(self, rows: DataFrame | Materialized, marker: Mapping[str, Any]) -> int:
        """Put rows in the place of all there are, in one commit with this marker; return its version."""
        self.checkpoint()
        self._commit([_info(marker, "Overwrite"), *self._written(rows)], marker)
        return self._newest

    def holds(self, commit: Commit) -> bool:
        """Whether the rows of a commit are still in the files in which it wrote them, as far as these show."""
        try:
            for name in commit.files:
                parquet.rows_in(self.path / unquote(name))
        except (TornFile, FileNotFoundError):
            return False
        return not commit.is_past

    def is_as_left(self, commit: Commit) -> bool:
        """Whether the rows of a commit are there, and nobody has changed any since."""
        try:
            later = [actions_of(self.path, version) for version in range(commit.version + 1, self.newest_version() + 1)]
        except FileNotFoundError:
            return False
        return self.holds(commit) and not any(foreign.harm(actions, self.schema) for actions in later)

    def _replaced(self) -> Iterator[Mapping[str, Any]]:
        now, files = int(time.time() * 1000), open_table(self.path, self._newest).get_add_actions()
        for name, size in zip(files.column("path").to_pylist(), files.column("size_bytes").to_pylist(), strict=True):
            yield {"remove": {"path": name, "deletionTimestamp": now, "dataChange": True, "size": size}}


def _info(marker: Mapping[str, Any], mode: str) -> Mapping[str, Any]:
    text = json.dumps({MARKER: dict(marker)}, separators=(",", ":"))
    fields = {"timestamp": int(time.time() * 1000), "operation": "WRITE", "operationParameters": {"mode": mode}}
    fields |= {"isBlindAppend": mode == "Append", "engineInfo": "headrace", "txnId": str(uuid.uuid4())}
    return {"commitInfo": {**fields, "userMetadata": text}}


def create_plain(path: StorePath, schema: StructType, properties: Mapping[str, str] | None = None) -> bool:
    """Create a Delta table that is missing, without rows and without Spark, which takes a second for it when young."""
    if is_table(path):
        return False
    return create_table(path, Schema.from_json(nullable(schema).json()), properties or {})


def _stored_schema(table: DeltaTable) -> StructType:
    return StructType.fromJson(json.loads(table.schema().to_json()))
