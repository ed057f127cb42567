"""The set of keys that are closed permanently: what `once_per` and `close_when` look up in every batch.

Each batch that closes keys adds to it; a start goes on from what is stored of it (`tables/closed_keys/runs.py`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.functions import lit
from pyspark.sql.types import LongType, StructField, StructType

from headrace.spark.arrow import as_frame
from headrace.spark.materialized import Materialized
from headrace.spark.small_batches import SmallBatches
from headrace.store.paths import spark_uri
from headrace.tables.closed_keys.runs import SCHEMA, Key, KeyRuns, pairs
from headrace.tables.delta import CommitTable

LOOKUP_KEYS = 5_000
"""Up to here a batch's keys are looked up one by one in the stored runs instead of joined with them."""

_NAMED_KEYS = 100
"""Up to here closed keys are named in an expression."""

_RECENT_KEYS = 20_000
_RECENT_BATCHES = 1_000
"""How many keys or batches wait until they are stored; a start reads the rows of at most this many batches."""

_DRIVER_KEYS = 1_000_000
"""How many are in the driver at once when the index is rebuilt from its table."""

_COLUMNS = StructType([StructField(name, LongType()) for name in ("h1", "h2")])

_Hashed = tuple[int, int, bool]


class KeyIndex:
    """Fingerprints of all closed keys, stored next to their table except for the most recent ones.

    A key is two independent 64-bit hashes, so that no two keys in 10^15 would collide. A small batch asks the stored
    runs by literal values, so the cost does not grow with the number of keys. Bloom filters in memory save that for
    keys that are new, as most are. Keys closed since the last run was stored wait in a bounded set on the driver.
    """

    def __init__(
        self,
        batches: SmallBatches,
        name: str,
        keys: Sequence[str],
        closes: str = "true",
        called: Sequence[str] = (),
    ) -> None:
        """`closes` is the predicate of the table's rows that close their key, `called` the macros it may call."""
        self._batches = batches
        self._name = name
        self._keys = list(keys)
        self._closes = closes
        self._called = list(called)
        self._hashed: tuple[Materialized, list[_Hashed]] | None = None
        self._table: CommitTable | None = None
        self._stored: KeyRuns | None = None
        self._recent: set[Key] = set()
        self._waiting = 0

    def load(self, table: CommitTable, before_batch: int) -> None:
        """Prepare to run a batch of a table: all keys that the batches before it have closed are known."""
        self.drop()
        self._table = table
        if not before_batch:
            return
        self._stored = self._runs()
        upto = self._stored.open(before_batch)
        if upto is None:
            rows = self._closing(table.before(self._batches.session, before_batch))
            self._stored.replace(self._sets(self._batches.materialize(rows)), before_batch)
            return
        self._waiting = before_batch - upto
        rows = self._closing(table.between(self._batches.session, upto - 1, before_batch))
        self._take_in(self._batches.materialize(rows), before_batch)

    def drop(self) -> None:
        """Forget everything; the tables still hold it."""
        self._stored = None
        self._recent = set()
        self._waiting = 0
        self._hashed = None

    def unclosed(self, rows: Materialized) -> Materialized:
        """Those rows whose key is not closed, in place of all."""
        if rows.count == 0 or self._empty():
            return rows
        closed = self._closed_among(rows)
        if closed is None:
            return rows.narrowed(self._unseen_by_join(rows.frame))
        return rows.narrowed(rows.frame.where(~self._is_any_of(closed))) if closed else rows

    def marked(self, rows: Materialized, name: str) -> DataFrame:
        """All rows, and a column that says whether their key is closed."""
        if rows.count == 0 or self._empty():
            return rows.frame.withColumn(name, lit(False))
        known = self._closed_among(rows)
        if known is None:
            h1, h2 = self._fingerprint()
            closed = self._all().distinct().withColumnsRenamed({"h1": "_h1", "h2": "_h2"}).withColumn(name, lit(True))
            found = rows.frame.withColumns({"_h1": h1, "_h2": h2}).join(closed, ["_h1", "_h2"], "left")
            return found.drop("_h1", "_h2").withColumn(name, F.coalesce(name, lit(False)))
        return rows.frame.withColumn(name, self._is_any_of(known) if known else lit(False))

    def add(self, rows: Materialized, batch: int) -> None:
        """Close the keys of the committed rows of a batch that close them."""
        self._waiting += bool(rows.count)
        if rows.count > LOOKUP_KEYS:
            self._take_in(self._batches.materialize(self._closing(rows.frame)), batch + 1)
            return
        self._recent.update((h1, h2) for h1, h2, closes in self._hashes(rows) if closes)
        self._store_if_due(batch + 1)

    def _take_in(self, closed: Materialized, before_batch: int) -> None:
        """Take in fingerprints of the batches before one, and release them."""
        if closed.count + len(self._recent) > _RECENT_KEYS:
            self._store(self._sets(closed), before_batch)
            return
        for keys in self._sets(closed):
            self._recent.update(pairs(keys))
        self._store_if_due(before_batch)

    def _store_if_due(self, before_batch: int) -> None:
        if self._waiting >= _RECENT_BATCHES or len(self._recent) > _RECENT_KEYS:
            self._store((), before_batch)

    def _store(self, more: Iterable[pa.Table], before_batch: int) -> None:
        """Store what has waited, and more: all at once, as the files then say that they hold all."""
        self._stored = self._stored or self._runs()
        self._stored.add(chain([self._recent_keys()], more), before_batch)
        self._recent, self._waiting = set(), 0

    def _recent_keys(self) -> pa.Table:
        """Fingerprints that are not stored yet."""
        h1, h2 = zip(*self._recent, strict=True) if self._recent else ((), ())
        return pa.table([pa.array(h1, pa.int64()), pa.array(h2, pa.int64())], schema=SCHEMA)

    def _sets(self, closed: Materialized) -> Iterator[pa.Table]:
        """Fingerprints in tables that are not too large for the driver; released when all are taken."""
        parts = -(-closed.count // _DRIVER_KEYS)
        for part in range(parts):
            some = closed.frame if parts == 1 else closed.frame.where(F.pmod("h1", lit(parts)) == part)
            yield pa.table(some.toArrow().columns, schema=SCHEMA)
        closed.release()

    def _runs(self) -> KeyRuns:
        """The stored runs, if they are of this table and of the same keys and conditions."""
        assert self._table is not None, "closed keys are stored before they are loaded"
        folder = self._table.path / "_keys" / re.sub(r"\W+", "_", self._name)
        made = {"keys": self._keys, "closes": self._closes, "called": self._called}
        return KeyRuns(folder, {"table": self._table.id(), "name": self._name, **made})

    def _hashes(self, rows: Materialized) -> list[_Hashed]:
        """Fingerprint of each of a few rows, and whether it closes its key; asked for twice, computed once."""
        if rows.count == 0:
            return []
        if self._hashed is None or self._hashed[0] is not rows:
            text = self._batches.text(f"{self._name} keys", lambda: self._as_json(rows.frame), rows.frame)
            self._hashed = (rows, [(int(h1), int(h2), closes == "true") for h1, h2, closes in json.loads(text)])
        return self._hashed[1]

    def _as_json(self, rows: DataFrame) -> DataFrame:
        closes = F.coalesce(F.expr(self._closes), lit(False))
        each = F.array(*(column.cast("string") for column in (*self._fingerprint(), closes)))
        return rows.select(F.to_json(F.collect_list(each)))

    def _closing(self, rows: DataFrame) -> DataFrame:
        return rows.where(self._closes).select(*self._fingerprint())

    def _fingerprint(self) -> tuple[Column, Column]:
        names = [F.col(name) for name in self._keys]
        return F.xxhash64(*names).alias("h1"), F.xxhash64(lit("headrace"), *names).alias("h2")

    def _empty(self) -> bool:
        return not self._recent and not (self._stored and self._stored.count)

    def _closed_among(self, rows: Materialized) -> set[Key] | None:
        """The closed keys among those of a batch; None if either are too many for this."""
        if rows.count > LOOKUP_KEYS:
            return None
        closed = self._lookup({(h1, h2) for h1, h2, _ in self._hashes(rows)})
        return closed if len(closed) <= _NAMED_KEYS else None

    def _lookup(self, asked: set[Key]) -> set[Key]:
        found = asked & self._recent
        return found | self._stored.found(asked - found) if self._stored else found

    def _unseen_by_join(self, rows: DataFrame) -> DataFrame:
        h1, h2 = self._fingerprint()
        marked = rows.withColumn("_h1", h1).withColumn("_h2", h2)
        closed = self._all().withColumnsRenamed({"h1": "_h1", "h2": "_h2"})
        return marked.join(closed, ["_h1", "_h2"], "left_anti").drop("_h1", "_h2")

    def _is_any_of(self, closed: set[tuple[int, int]]) -> Column:
        h1, h2 = self._fingerprint()
        return F.struct(h1, h2).isin([F.struct(lit(a).alias("h1"), lit(b).alias("h2")) for a, b in closed])

    def _all(self) -> DataFrame:
        session = self._batches.session
        recent = as_frame(session, self._recent_keys(), _COLUMNS)
        files = [spark_uri(file) for file in self._stored.files] if self._stored else []
        return recent.unionByName(session.read.schema(_COLUMNS).parquet(*files)) if files else recent
