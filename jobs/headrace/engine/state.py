"""The current rows of an upsert model: an appended change log is the truth, a cached copy is the speed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType, LongType, StructType

from headrace.engine.delta import MARKER, CommitTable, Materialized, materialize

_SMALL_ROWS = 20_000
_FOLD_ROWS = 2_000
_FOLD_SHARE = 4


def changes_schema(model_schema: StructType) -> StructType:
    """The change log's columns: the model's, whether the key went, and the batch."""
    return StructType([*model_schema.fields]).add("_deleted", BooleanType()).add("_batch", LongType())


def newest_per_key(changes: DataFrame, keys: Sequence[str]) -> DataFrame:
    """The last change of each key by (batch, arrival); by batch where a batch changes a key but once."""
    order = [F.col(name).desc() for name in order_of(changes)]
    newest = Window.partitionBy(*keys).orderBy(*order)
    return changes.withColumn("_rank", F.row_number().over(newest)).where("_rank = 1").drop("_rank")


def order_of(changes: DataFrame) -> tuple[str, ...]:
    """The columns that order changes; a streaming aggregate changes a key once a batch and knows no arrival."""
    return tuple(name for name in ("_batch", "_arrival") if name in changes.columns)


class KeyedState:
    """The state of one upsert model as of the last finished batch.

    Two layers, both in Spark's memory: `base`, and the keys changed since base was made. A batch rewrites only
    the second; it is folded into the first when it has grown to a quarter of it, so a batch costs what it changes.
    A small state is folded at once, so that reading it is one plain scan.
    """

    def __init__(self, session: SparkSession, log: CommitTable, keys: Sequence[str]) -> None:
        self._session = session
        self._log = log
        self._keys = list(keys)
        self._base: Materialized | None = None
        self._recent: Materialized | None = None

    @property
    def count(self) -> int:
        """An upper bound of the number of rows, exact after a fold."""
        return (self._base.count if self._base else 0) + (self._recent.count if self._recent else 0)

    @property
    def is_empty(self) -> bool:
        """Whether there is no row at all."""
        return not self.count or (self._recent is not None and self._live().isEmpty())

    def load(self, before_batch: int) -> None:
        """Rebuild both layers from the log, as the state stood before a batch."""
        self.drop()
        past = self._log.before(self._session, before_batch)
        rows = newest_per_key(past, self._keys).where("not _deleted") if before_batch else past
        self._base = materialize(rows)

    def read(self) -> DataFrame:
        """The rows as of the last finished batch, without bookkeeping columns."""
        return (
            self._live().drop("_deleted", "_batch").hint("broadcast" if self.count <= _SMALL_ROWS else "shuffle_hash")
        )

    def apply(self, changes: Materialized) -> None:
        """Take a committed batch's changes in."""
        if changes.count <= _FOLD_ROWS:
            self._take_in(changes, newest_per_key(changes.frame, self._keys))
            return
        newest = materialize(newest_per_key(changes.frame, self._keys))  # it is read twice
        self._take_in(newest, newest.frame)
        newest.release()

    def _take_in(self, changes: Materialized, newest: DataFrame) -> None:
        if self._recent is not None:
            newest = _without(self._recent.frame, newest, self._keys).unionByName(newest)
        former, self._recent = self._recent, None
        if self.count + changes.count <= _FOLD_ROWS and former is None:
            left = _without(self._frame(), newest, self._keys)
            self._replace(left.unionByName(newest.where("not _deleted")), self.count + changes.count)
            return
        self._recent = self._keep(newest, changes.count + (former.count if former else 0))
        if former is not None:
            former.release()
        if self._recent.count > max(_FOLD_ROWS, self._base_count() // _FOLD_SHARE):
            self._replace(self._live(), self.count)

    def drop(self) -> None:
        """Forget the cached copy; the log still holds everything."""
        for layer in (self._base, self._recent):
            if layer is not None:
                layer.release()
        self._base = self._recent = None

    def store_current(self, path: Path, query: str, batch: int) -> None:
        """Write the current rows where plain Delta readers find them."""
        marker = f'{{"{MARKER}":{{"query":"{query}","batch":{batch}}}}}'
        writer = self._live().drop("_deleted").write.format("delta").mode("overwrite")
        writer.option("userMetadata", marker).save(str(path))

    def _live(self) -> DataFrame:
        if self._recent is None:
            return self._frame()
        old = _without(self._frame(), self._recent.frame, self._keys)
        return old.unionByName(self._recent.frame.where("not _deleted"))

    def _frame(self) -> DataFrame:
        assert self._base is not None, "state is read before it is loaded"
        return self._base.frame

    def _base_count(self) -> int:
        return self._base.count if self._base else 0

    def _replace(self, rows: DataFrame, at_most: int) -> None:
        folded = self._keep(rows, at_most)
        self.drop()
        self._base = folded

    def _keep(self, rows: DataFrame, at_most: int) -> Materialized:
        """Keep rows as one partition while they are few, else spread by key."""
        return materialize(rows.coalesce(1) if at_most <= _SMALL_ROWS else rows.repartition(*self._keys))


def _without(rows: DataFrame, others: DataFrame, keys: Sequence[str]) -> DataFrame:
    same = [rows[key].eqNullSafe(others[key]) for key in keys]
    return rows.join(F.broadcast(others), same, "left_anti")
