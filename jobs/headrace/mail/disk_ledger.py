"""A ledger on a disk: one small database, synced at every write."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from headrace.errors import EnvironmentFault
from headrace.mail.outcome import Outcome, Place

_TABLES = """
create table if not exists letters (
    order_id text primary key, outcome text not null, reason text not null default '', at text not null
);
create table if not exists places (partition integer primary key, next integer not null);
"""

_DISK = "see whether the disk is full and whether this user may write there, or choose another `data_dir` in conf/"
_BROKEN = "it is no ledger; put a copy of it back, or remove it, and letters that were sent may go out again"


class DiskLedger:
    """A ledger that a file holds."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection, self._path = connection, path
        with _open(connection, path):
            connection.executescript(_TABLES)

    @classmethod
    def at(cls, path: Path) -> DiskLedger:
        """The ledger that a file holds."""
        path.parent.mkdir(parents=True, exist_ok=True)
        with _naming_file(path):
            connection = sqlite3.connect(path)
        return cls(connection, path)

    @classmethod
    def copy_of(cls, path: Path) -> DiskLedger:
        """A copy of a file's ledger in memory, discarded at the end: that of a dry run."""
        memory = sqlite3.connect(":memory:")
        if path.exists():
            with _open(memory, path), closing(sqlite3.connect(path)) as stored:
                stored.backup(memory)
        return cls(memory, path)

    def places(self) -> Mapping[int, int]:
        return dict(self._execute("select partition, next from places"))

    def is_done(self, order_id: str) -> bool:
        return bool(self._execute("select 1 from letters where order_id = ? and outcome <> 'sending'", order_id))

    def write(self, order_id: str, place: Place, outcome: Outcome, reason: str = "") -> None:
        now = "strftime('%Y-%m-%dT%H:%M:%SZ', 'now')"
        self._execute(f"insert or replace into letters values (?, ?, ?, {now})", order_id, outcome, reason)

    def mark_read(self, place: Place) -> None:
        self._execute("insert or replace into places values (?, ?)", place.partition, place.offset + 1)

    def counts(self) -> Mapping[str, int]:
        return dict(self._execute("select outcome, count(*) from letters group by 1 order by 1"))

    def close(self) -> None:
        self._connection.close()

    def _execute(self, sql: str, *values: str | int) -> list[Any]:
        """Run one statement to its commit."""
        with _naming_file(self._path), self._connection:
            return self._connection.execute(sql, values).fetchall()


@contextmanager
def _open(connection: sqlite3.Connection, path: Path) -> Iterator[None]:
    """Make a connection ready for use, or close it."""
    try:
        with _naming_file(path):
            yield
    except EnvironmentFault:
        connection.close()
        raise


@contextmanager
def _naming_file(path: Path) -> Iterator[None]:
    """Report SQLite's errors about a file or a disk in one line; errors of our SQL keep their traceback."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        remedies = {sqlite3.OperationalError: _DISK, sqlite3.DatabaseError: _BROKEN}
        if type(error) not in remedies:
            raise
        raise EnvironmentFault(f"{path}: {error}; {remedies[type(error)]}") from error
