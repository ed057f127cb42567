"""The set of keys that are done for ever: what `once_per` and `close_when` look up in every batch."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

LOOKUP_KEYS = 100
"""Up to here a batch's keys are looked up one by one in the sorted index instead of joined with it."""

_RECENT_KEYS = 20_000


class KeyIndex:
    """Fingerprints of all closed keys, sorted, in Spark's columnar cache.

    A key is two independent 64-bit hashes, so that two keys in 10^15 would not meet. A small batch asks by literal
    values: the cache's own minima and maxima then skip all but the few chunks that can hold them, so the cost does
    not grow with the number of keys. Keys closed since the index was sorted wait in a bounded list on the driver.
    """

    def __init__(self, session: SparkSession, keys: Sequence[str]) -> None:
        self._session = session
        self._keys = list(keys)
        self._sorted: DataFrame | None = None
        self._recent: set[tuple[int, int]] = set()

    def load(self, closed: DataFrame) -> None:
        """Start from the rows whose keys are closed."""
        self.drop()
        self._sort(closed.select(*self._fingerprint()))

    def drop(self) -> None:
        """Forget everything; the tables still hold it."""
        if self._sorted is not None:
            self._sorted.unpersist()
        self._sorted = None
        self._recent = set()

    def unseen(self, rows: DataFrame, count: int) -> DataFrame:
        """Those of `count` rows whose key is not closed."""
        if count == 0 or self._empty():
            return rows
        if count > LOOKUP_KEYS:
            return self._unseen_by_join(rows)
        asked = {(r[0], r[1]) for r in rows.select(*self._fingerprint()).collect()}
        closed = self._lookup(asked)
        return rows.where(~self._is_any_of(closed)) if closed else rows

    def add(self, rows: DataFrame, count: int) -> None:
        """Close the keys of `count` committed rows."""
        if count + len(self._recent) > _RECENT_KEYS:
            self._sort(self._all().unionByName(rows.select(*self._fingerprint())))
        elif count:
            self._recent.update((r[0], r[1]) for r in rows.select(*self._fingerprint()).collect())

    def _fingerprint(self) -> tuple[Column, Column]:
        names = [F.col(name) for name in self._keys]
        return F.xxhash64(*names).alias("h1"), F.xxhash64(F.lit("headrace"), *names).alias("h2")

    def _empty(self) -> bool:
        return not self._recent and self._sorted is None

    def _lookup(self, asked: set[tuple[int, int]]) -> set[tuple[int, int]]:
        found = asked & self._recent
        rest = asked - found
        if rest and self._sorted is not None:
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
        return F.struct(h1, h2).isin([F.struct(F.lit(a).alias("h1"), F.lit(b).alias("h2")) for a, b in closed])

    def _all(self) -> DataFrame:
        recent = self._session.createDataFrame(list(self._recent), "h1 bigint, h2 bigint")
        return recent if self._sorted is None else self._sorted.unionByName(recent)

    def _sort(self, fingerprints: DataFrame) -> None:
        former = self._sorted
        ordered = fingerprints.repartitionByRange("h1").sortWithinPartitions("h1").persist()
        if ordered.count():
            self._sorted = ordered
        self._recent = set()
        if former is not None:
            former.unpersist()
