"""The ledger: which orders have had their letter, and how far a topic has been read; one small file, always synced."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

Outcome = Literal["sending", "sent", "refused", "undeliverable"]

_TABLES = """
create table if not exists letters (
    order_id text primary key, outcome text not null, reason text not null default '', at text not null
);
create table if not exists places (partition integer primary key, next integer not null);
"""


class Ledger:
    """What has become of each order's letter; `sending` that outlives its process may or may not have been sent."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        connection.executescript(_TABLES)

    @classmethod
    def at(cls, path: Path) -> Ledger:
        """The ledger that a file holds."""
        path.parent.mkdir(parents=True, exist_ok=True)
        return cls(sqlite3.connect(path))

    @classmethod
    def copy_of(cls, path: Path) -> Ledger:
        """A ledger that starts as a file's and is forgotten: that of a dry run."""
        memory = sqlite3.connect(":memory:")
        if path.exists():
            with sqlite3.connect(path) as stored:
                stored.backup(memory)
            stored.close()
        return cls(memory)

    def places(self) -> Mapping[int, int]:
        """The offset to go on from, per partition."""
        return dict(self._connection.execute("select partition, next from places"))

    def is_done(self, order_id: str) -> bool:
        """Whether an order has had its letter, or can have none."""
        asked = "select 1 from letters where order_id = ? and outcome <> 'sending'"
        return self._connection.execute(asked, [order_id]).fetchone() is not None

    def write(self, order_id: str, outcome: Outcome, reason: str = "") -> None:
        """Note what becomes of an order's letter."""
        with self._connection:
            self._connection.execute(
                "insert or replace into letters values (?, ?, ?, strftime('%Y-%m-%dT%H:%M:%SZ', 'now'))",
                [order_id, outcome, reason],
            )

    def pass_by(self, partition: int, offset: int) -> None:
        """A record needs no second look."""
        with self._connection:
            self._connection.execute("insert or replace into places values (?, ?)", [partition, offset + 1])

    def counts(self) -> dict[str, int]:
        """How many orders there are of each outcome."""
        return dict(self._connection.execute("select outcome, count(*) from letters group by 1 order by 1"))

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()
