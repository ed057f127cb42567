"""The set of keys that are closed permanently: what `once_per` and `close_when` look up in every batch."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.functions import lit

from headrace.spark.materialized import Materialized
from headrace.spark.small_batches import SmallBatches

LOOKUP_KEYS = 100
"""Up to here a batch's keys are looked up one by one in the sorted index instead of joined with it."""

_RECENT_KEYS = 20_000

_Hashed = tuple[int, int, bool]


class KeyIndex:
    """Fingerprints of all closed keys, sorted, in Spark's columnar cache.

    A key is two independent 64-bit hashes, so that no two keys in 10^15 would collide. A small batch asks by literal
    values: the cache's own minima and maxima then skip all but the few chunks that can hold them, so the cost does
    not grow with the number of keys. A Bloom filter saves that for keys that are new, as most are. Keys closed since
    the index was sorted wait in a bounded list on the driver.
    """

    def __init__(self, batches: SmallBatches, name: str, keys: Sequence[str], closes: str = "true") -> None:
        """`closes` is the predicate of rows that close their key."""
        self._batches = batches
        self._name = name
        self._keys = list(keys)
        self._closes = closes
        self._hashed: tuple[Materialized, list[_Hashed]] | None = None
        self._sorted: DataFrame | None = None
        self._may_contain: Callable[[int], bool] | None = None
        self._recent: set[tuple[int, int]] = set()

    def load(self, rows: DataFrame) -> None:
        """Start from all rows there are."""
        self.drop()
        self._sort(self._closing(rows))

    def drop(self) -> None:
        """Forget everything; the tables still hold it."""
        if self._sorted is not None:
            self._sorted.unpersist()
        self._sorted = self._may_contain = None
        self._recent = set()
        self._hashed = None

    def unclosed(self, rows: Materialized) -> Materialized:
        """Those rows whose key is not closed, in place of all."""
        if rows.count == 0 or self._empty():
            return rows
        if rows.count > LOOKUP_KEYS:
            return rows.narrowed(self._unseen_by_join(rows.frame))
        closed = self._lookup({(h1, h2) for h1, h2, _ in self._hashes(rows)})
        return rows.narrowed(rows.frame.where(~self._is_any_of(closed))) if closed else rows

    def marked(self, rows: Materialized, name: str) -> DataFrame:
        """All rows, and a column that says whether their key is closed."""
        if rows.count == 0 or self._empty():
            return rows.frame.withColumn(name, lit(False))
        if rows.count > LOOKUP_KEYS:
            h1, h2 = self._fingerprint()
            closed = self._all().distinct().withColumnsRenamed({"h1": "_h1", "h2": "_h2"}).withColumn(name, lit(True))
            found = rows.frame.withColumns({"_h1": h1, "_h2": h2}).join(closed, ["_h1", "_h2"], "left")
            return found.drop("_h1", "_h2").withColumn(name, F.coalesce(name, lit(False)))
        known = self._lookup({(h1, h2) for h1, h2, _ in self._hashes(rows)})
        return rows.frame.withColumn(name, self._is_any_of(known) if known else lit(False))

    def add(self, rows: Materialized) -> None:
        """Close the keys of committed rows that close them."""
        if rows.count <= LOOKUP_KEYS:
            self._recent.update((h1, h2) for h1, h2, closes in self._hashes(rows) if closes)
        elif rows.count_where(self._closes) + len(self._recent) <= _RECENT_KEYS:
            self._recent.update((h1, h2) for h1, h2 in self._closing(rows.frame).collect())
        else:
            self._sort(self._all().unionByName(self._closing(rows.frame)))

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
        return not self._recent and self._sorted is None

    def _lookup(self, asked: set[tuple[int, int]]) -> set[tuple[int, int]]:
        found = asked & self._recent
        if self._sorted is None:
            return found
        rest = {key for key in asked - found if self._may_contain is None or self._may_contain(key[0])}
        if rest:
            hits = self._sorted.where(F.col("h1").isin([h1 for h1, _ in rest])).collect()
            found |= {(r[0], r[1]) for r in hits} & rest
        return found

    def _unseen_by_join(self, rows: DataFrame) -> DataFrame:
        h1, h2 = self._fingerprint()
        marked = rows.withColumn("_h1", h1).withColumn("_h2", h2)
        closed = self._all().withColumnsRenamed({"h1": "_h1", "h2": "_h2"})
        return marked.join(closed, ["_h1", "_h2"], "left_anti").drop("_h1", "_h2")

    def _is_any_of(self, closed: set[tuple[int, int]]) -> Column:
        h1, h2 = self._fingerprint()
        return F.struct(h1, h2).isin([F.struct(lit(a).alias("h1"), lit(b).alias("h2")) for a, b in closed])

    def _all(self) -> DataFrame:
        recent = self._batches.session.createDataFrame(list(self._recent), "h1 bigint, h2 bigint")
        return recent if self._sorted is None else self._sorted.unionByName(recent)

    def _sort(self, fingerprints: DataFrame) -> None:
        former = self._sorted
        ordered = fingerprints.repartitionByRange("h1").sortWithinPartitions("h1").persist()
        if count := ordered.count():
            self._sorted = ordered
            self._may_contain = self._batches.may_contain(ordered, "h1", count)
        self._recent = set()
        if former is not None:
            former.unpersist()
