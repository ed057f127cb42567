"""The newest small commit of each table, kept in memory for who reads it next in this process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from pyspark.sql import DataFrame, SparkSession

from headrace.engine.delta import Materialized
from headrace.engine.session import SMALL_BATCH_ROWS


@dataclass(frozen=True)
class Lent(Materialized):
    """Rows that stay somebody else's; `release` gives them back."""

    give_back: Callable[[], None]

    def release(self) -> None:
        self.give_back()


@dataclass
class _Kept:
    version: int
    rows: Materialized
    readers: int = 0


class Shelf:
    """Rows a writer has just committed, so that a reader in the same process need not read its files.

    One commit per table is kept: the next one takes its place, and its memory goes once nobody reads it any more.
    Whatever is not here is in the files.
    """

    def __init__(self) -> None:
        self._newest: dict[Path, _Kept] = {}
        self._lock = Lock()

    def put(self, table: Path, version: int, rows: Materialized) -> None:
        """Take over the rows of a commit; too many are released at once."""
        with self._lock:
            former = self._newest.pop(table, None)
            if rows.count <= SMALL_BATCH_ROWS:
                self._newest[table] = _Kept(version, rows)
            else:
                rows.release()
            if former and not former.readers:
                former.rows.release()

    def take(self, table: Path, version: int, session: SparkSession) -> Materialized | None:
        """The rows of a commit for a reader's own session; None if they are not here."""
        with self._lock:
            kept = self._newest.get(table)
            if kept is None or kept.version != version:
                return None
            kept.readers += 1
        return Lent(_in_session(kept.rows.frame, session), kept.rows.count, lambda: self._give_back(table, kept))

    def _give_back(self, table: Path, kept: _Kept) -> None:
        with self._lock:
            kept.readers -= 1
            if not kept.readers and self._newest.get(table) is not kept:
                kept.rows.release()


def _in_session(frame: DataFrame, session: SparkSession) -> DataFrame:
    """The same kept rows, planned with the settings of another session."""
    rdd = frame._jdf.queryExecution().logical().rdd()
    return DataFrame(session._jsparkSession.internalCreateDataFrame(rdd, frame._jdf.schema(), False), session)
