"""The newest commits of each table, cached in memory for whoever reads them next in this process."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from threading import Lock

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from headrace.spark.columns import nullable
from headrace.spark.materialized import Held, Materialized
from headrace.spark.session import SMALL_BATCH_BYTES, SMALL_BATCH_ROWS
from headrace.spark.small_batches import SmallBatches
from headrace.store.commits import Commit
from headrace.store.paths import StorePath
from headrace.tables.delta import CommitTable

_MOST = 100
"""Commits of a table; a reader that is behind by more reads the files, and each commit takes some memory here."""


class _Holders:
    """A reference count."""

    def __init__(self) -> None:
        self._number = 1
        self._lock = Lock()

    def acquire(self) -> bool:
        """One more; False if the last one has released it before."""
        with self._lock:
            self._number += self._number > 0
            return self._number > 0

    def release(self) -> bool:
        """One less; whether it was the last one."""
        with self._lock:
            self._number -= 1
            return self._number == 0


@dataclass(frozen=True)
class SharedRows(Materialized):
    """Many rows that their writer and readers hold at once: the last one to release them gives the memory back.

    `stored` are the columns that are written; what else the rows hold spares readers to compute it again.
    """

    rows: Materialized
    stored: tuple[str, ...]
    _holders: _Holders = field(default_factory=_Holders)

    @classmethod
    def of(cls, rows: Materialized, stored: Iterable[str]) -> SharedRows:
        """Rows that have one holder so far."""
        return cls(rows.frame, rows.count, rows, tuple(stored))

    def write(self, folder: StorePath) -> None:
        replace(self.rows, frame=self.frame.select(*self.stored)).write(folder)

    def release(self) -> None:
        if self._holders.release():
            self.rows.release()

    def narrowed(self, fewer: DataFrame) -> Materialized:
        raise NotImplementedError("rows that others hold are not narrowed")

    def count_where(self, condition: str) -> int:
        return self.rows.count_where(condition)

    def hold(self) -> bool:
        """Become another holder; False if the rows are released already."""
        return self._holders.acquire()

    def held_in(self, session: SparkSession) -> SharedRows | None:
        """Become another holder, with a frame of that session; None if they are released, or it cannot see them."""
        frame = self.rows.seen_by(session)
        return replace(self, frame=frame) if frame is not None and self.hold() else None


@dataclass(frozen=True)
class _Cached:
    schema: StructType
    rows: Held
    count: int
    bytes: int


class _Newest:
    """The newest commits of a table, by version, as long as they are few, and few rows in all.

    What they hold is added up as they come and go, as to count their rows asks the JVM.
    """

    def __init__(self) -> None:
        self.commits = OrderedDict[int, _Cached]()
        self._count = self._bytes = 0

    def add(self, version: int, one: _Cached) -> None:
        """Cache the next commit, and drop the oldest ones until all of them are within the limits."""
        self.commits[version] = one
        self._count += one.count
        self._bytes += one.bytes
        while len(self.commits) > _MOST or self._count > SMALL_BATCH_ROWS or self._bytes > SMALL_BATCH_BYTES:
            _, oldest = self.commits.popitem(last=False)
            self._count -= oldest.count
            self._bytes -= oldest.bytes


class CommitCache:
    """Rows that writers have just committed, so that readers in the same process need not read the files.

    The newest commits of a table are cached as long as they have few rows in all, and take little memory; of large ones
    the newest is cached until the next but one commit. Whatever is not here is in the files.
    """

    def __init__(self) -> None:
        self._newest: dict[StorePath, _Newest] = {}
        self._large: dict[StorePath, tuple[int, SharedRows]] = {}
        self._lock = Lock()

    def put(self, table: StorePath, version: int, rows: Materialized) -> None:
        """Cache the rows of a commit if they are in memory as they are, and few, or made to be shared."""
        with self._lock:
            self._put_large(table, version, rows)
            if (held := rows.held) is not None:
                one = _Cached(rows.frame.schema, held, rows.count, held.nbytes)
                self._newest.setdefault(table, _Newest()).add(version, one)

    def _put_large(self, table: StorePath, version: int, rows: Materialized) -> None:
        former = self._large.get(table)
        if former and (isinstance(rows, SharedRows) or version > former[0] + 1):
            self._large.pop(table)[1].release()
        if isinstance(rows, SharedRows) and rows.hold():
            self._large[table] = (version, rows)

    def take(
        self, batches: SmallBatches, name: str, table: CommitTable, commits: Iterable[Commit]
    ) -> Materialized | None:
        """The rows of commits of a table, by a name among a query's batches.

        None if some are not here, or have other columns.
        """
        with self._lock:
            cached = self._newest[table.path].commits if table.path in self._newest else {}
            found = [cached.get(commit.version) for commit in commits if commit.added_rows]
        wanted = nullable(table.schema)
        here = [each.rows for each in found if each is not None and nullable(each.schema) == wanted]
        return batches.take(name, here, table.schema) if here and len(here) == len(found) else None

    def take_large(self, session: SparkSession, table: CommitTable, commits: Iterable[Commit]) -> SharedRows | None:
        """The rows of commits of which one only has any, a large one; None if it is not here. To be released."""
        with self._lock:
            version, rows = self._large.get(table.path, (-1, None))
            is_it = [commit.version for commit in commits if commit.added_rows] == [version]
            return rows.held_in(session) if rows and is_it else None
