"""The newest small commits of each table, kept in memory for who reads them next in this process."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from headrace.engine.delta import Commit, CommitTable, Materialized, nullable
from headrace.engine.session import SMALL_BATCH_ROWS
from headrace.engine.slot import Filled, Rows


@dataclass(frozen=True)
class _Kept:
    version: int
    schema: StructType
    rows: Rows


class Shelf:
    """Rows that writers have just committed, so that readers in the same process need not read the files.

    The newest commits of a table are kept as long as they have few rows in all. Whatever is not here is in the files.
    """

    def __init__(self) -> None:
        self._newest: dict[Path, deque[_Kept]] = {}
        self._lock = Lock()

    def put(self, table: Path, version: int, rows: Materialized) -> None:
        """Keep the rows of a commit if they are in memory as they are, and few."""
        with self._lock:
            kept = self._newest.setdefault(table, deque())
            if isinstance(rows, Filled):
                kept.append(_Kept(version, rows.slot.schema, rows.rows))
            while sum(len(each.rows) for each in kept) > SMALL_BATCH_ROWS:
                kept.popleft()

    def take(self, session: SparkSession, table: CommitTable, commits: Iterable[Commit]) -> Rows | None:
        """The rows of commits of a table; None if some are not here, or have other columns."""
        with self._lock:
            kept = {each.version: each for each in self._newest.get(table.path, ())}
        found = [kept.get(commit.version) for commit in commits if commit.files]
        here = [each.rows for each in found if each is not None and each.schema == nullable(table.schema)]
        return Rows.joined(session, here) if here and len(here) == len(found) else None
