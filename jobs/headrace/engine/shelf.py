"""The newest small commit of each table, kept in memory for who reads it next in this process."""

from __future__ import annotations

from pathlib import Path
from threading import Lock

from headrace.engine.delta import Materialized
from headrace.engine.session import SMALL_BATCH_ROWS
from headrace.engine.slot import Rows


class Shelf:
    """Rows a writer has just committed, so that a reader in the same process need not read its files.

    One commit per table is kept: the next one takes its place. Whatever is not here is in the files.
    """

    def __init__(self) -> None:
        self._newest: dict[Path, tuple[int, Rows]] = {}
        self._lock = Lock()

    def put(self, table: Path, version: int, rows: Materialized) -> None:
        """Keep the rows of a commit if they are few."""
        found = Rows.of(rows) if rows.count <= SMALL_BATCH_ROWS else None
        with self._lock:
            self._newest.pop(table, None)
            if found is not None:
                self._newest[table] = (version, found)

    def take(self, table: Path, version: int) -> Rows | None:
        """The rows of a commit; None if they are not here."""
        with self._lock:
            at, rows = self._newest.get(table, (-1, None))
        return rows if at == version else None
