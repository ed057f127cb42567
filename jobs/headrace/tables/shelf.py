"""The newest commits of each table, kept in memory for who reads them next in this process."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Lock

from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from headrace.spark.columns import nullable
from headrace.spark.materialized import Materialized
from headrace.spark.session import SMALL_BATCH_BYTES, SMALL_BATCH_ROWS
from headrace.spark.slot import Filled, Rows
from headrace.tables.delta import Commit, CommitTable


class _Holders:
    """Counts who still needs something."""

    def __init__(self) -> None:
        self._number = 1
        self._lock = Lock()

    def come(self) -> bool:
        """One more; False if the last one has gone before."""
        with self._lock:
            self._number += self._number > 0
            return self._number > 0

    def go(self) -> bool:
        """One less; whether it was the last one."""
        with self._lock:
            self._number -= 1
            return self._number == 0


@dataclass(frozen=True)
class Shared(Materialized):
    """Many rows that their writer and readers hold at once: the last one to release them gives the memory back.

    `stored` are the columns that are written; what else the rows hold spares readers to compute it again.
    """

    stored: tuple[str, ...]
    _holders: _Holders = field(default_factory=_Holders)

    def write(self, folder: Path) -> None:
        Materialized(self.frame.select(*self.stored), self.count).write(folder)

    def release(self) -> None:
        if self._holders.go():
            super().release()

    def hold(self) -> bool:
        """Hold them, too; False if they are gone already."""
        return self._holders.come()

    def held_in(self, session: SparkSession) -> Shared | None:
        """Hold them, too, as a frame of that session; None if they are gone already."""
        return replace(self, frame=self.seen_by(session)) if self.hold() else None


@dataclass(frozen=True)
class _Kept:
    version: int
    schema: StructType
    rows: Rows
    bytes: int


def _bytes(kept: Iterable[_Kept]) -> int:
    return sum(each.bytes for each in kept)


class Shelf:
    """Rows that writers have just committed, so that readers in the same process need not read the files.

    The newest commits of a table are kept as long as they have few rows in all, and take little memory; of large ones
    the newest is kept until the next but one commit. Whatever is not here is in the files.
    """

    def __init__(self) -> None:
        self._newest: dict[Path, deque[_Kept]] = {}
        self._large: dict[Path, tuple[int, Shared]] = {}
        self._lock = Lock()

    def put(self, table: Path, version: int, rows: Materialized) -> None:
        """Keep the rows of a commit if they are in memory as they are, and few, or made to be shared."""
        with self._lock:
            self._put_large(table, version, rows)
            kept = self._newest.setdefault(table, deque())
            if isinstance(rows, Filled):
                size = rows.rows.bytes(rows.frame.sparkSession)
                kept.append(_Kept(version, rows.slot.schema, rows.rows, size))
            while sum(len(each.rows) for each in kept) > SMALL_BATCH_ROWS or _bytes(kept) > SMALL_BATCH_BYTES:
                kept.popleft()

    def _put_large(self, table: Path, version: int, rows: Materialized) -> None:
        former = self._large.get(table)
        if former and (isinstance(rows, Shared) or version > former[0] + 1):
            self._large.pop(table)[1].release()
        if isinstance(rows, Shared) and rows.hold():
            self._large[table] = (version, rows)

    def take(self, session: SparkSession, table: CommitTable, commits: Iterable[Commit]) -> Rows | None:
        """The rows of commits of a table; None if some are not here, or have other columns."""
        with self._lock:
            kept = {each.version: each for each in self._newest.get(table.path, ())}
        found = [kept.get(commit.version) for commit in commits if commit.files]
        here = [each.rows for each in found if each is not None and each.schema == nullable(table.schema)]
        return Rows.joined(session, here) if here and len(here) == len(found) else None

    def take_large(self, session: SparkSession, table: CommitTable, commits: Iterable[Commit]) -> Shared | None:
        """The rows of commits of which one only has any, a large one; None if it is not here. To be released."""
        with self._lock:
            version, rows = self._large.get(table.path, (-1, None))
            is_it = [commit.version for commit in commits if commit.files] == [version]
            return rows.held_in(session) if rows and is_it else None
