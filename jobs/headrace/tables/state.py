"""The current rows of an upsert model: an appended change log is the truth, a cached copy is the speed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType, LongType, StructType

from headrace.spark.columns import no_rows
from headrace.spark.materialized import Materialized
from headrace.spark.small_batches import SmallBatches
from headrace.store.commits import Commit
from headrace.store.paths import StorePath
from headrace.tables.delta import CommitTable, ReplacedTable

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
    return changes.withColumn("_recency", F.row_number().over(newest)).where("_recency = 1").drop("_recency")


def order_of(changes: DataFrame) -> tuple[str, ...]:
    """The columns that order changes; a streaming aggregate changes a key once a batch and knows no arrival."""
    return tuple(name for name in ("_batch", "_arrival") if name in changes.columns)


@dataclass(frozen=True)
class Stored:
    """The current rows that a query stores next to its change log, for plain Delta readers and for its next start."""

    table: ReplacedTable
    query: str

    @classmethod
    def beside(cls, log: CommitTable, path: StorePath, query: str) -> Stored:
        """Those of a change log."""
        columns = [field for field in log.schema if field.name != "_deleted"]
        return cls(ReplacedTable(log.spark, path, StructType(columns)), query)

    def newest(self) -> Commit | None:
        """The commit that stored them last; its batch is the last one that they take in."""
        return self.table.newest_marker(self.query)


class KeyedState:
    """The state of one upsert model as of the last finished batch.

    Two layers, both in Spark's memory: `base`, and the keys changed since base was made. A batch rewrites only
    the second; it is folded into the first when it has grown to a quarter of it, so a batch costs what it changes.
    A small state is folded at once, so that reading it is one plain scan.
    """

    def __init__(self, batches: SmallBatches, log: CommitTable, keys: Sequence[str]) -> None:
        self._batches = batches
        self._log = log
        self._keys = list(keys)
        self._base: Materialized | None = None
        self._recent: Materialized | None = None

    @property
    def count(self) -> int:
        """An upper bound of the number of rows, exact after a fold."""
        return _count(self._base) + _count(self._recent)

    @property
    def is_empty(self) -> bool:
        """Whether there is no row at all."""
        return not self.count or (self._recent is not None and self._live().isEmpty())

    def load(self, before_batch: int, stored: Stored | None = None) -> None:
        """Rebuild both layers as the state stood before a batch: from the stored rows and the changes since, if it can.

        The log alone is the truth. Stored rows are taken for what they say of themselves, or not at all.
        """
        self.drop()
        if self._log.past(before_batch) == []:
            self._base = self._batches.nothing(self._name("rows"), self._log.schema)
            return
        found = stored.newest() if stored else None
        if stored and found and self._holds(stored.table, found, before_batch):
            changes = self._since(stored.table, found, before_batch)
        else:
            changes = self._log.before(self._batches.session, before_batch)
        newest = newest_per_key(changes, self._keys)
        self._base = self._batches.put(self._name("rows"), self._batches.materialize(newest.where("not _deleted")))

    def _holds(self, table: ReplacedTable, found: Commit, before_batch: int) -> bool:
        """Whether stored rows are of this log, by these keys, older than the batch, and all there."""
        is_ours = found.marker.items() >= self._origin().items()
        return is_ours and 0 <= found.batch < before_batch and table.holds(found)

    def _since(self, table: ReplacedTable, found: Commit, before_batch: int) -> DataFrame:
        """Stored rows as changes, and the changes of the batches after them."""
        session = self._batches.session
        rows = table.rows(session, found).withColumn("_deleted", F.lit(False))
        if not self._log.has_between(found.batch, before_batch):
            return rows  # Spark loses the columns of what it has sorted where one side of a union is empty
        return self._log.between(session, found.batch, before_batch).unionByName(rows)

    def _origin(self) -> Mapping[str, object]:
        """What stored rows are made of: the rows of another log, or by other keys, say something else."""
        return {"log": self._log.id(), "keys": self._keys}

    def read(self) -> DataFrame:
        """The rows as of the last finished batch, without bookkeeping columns. For few, Spark chooses the join."""
        has_none = not self.count and not self._batches.are_few  # what is planned for this batch alone need not ask
        found = no_rows(self._batches.session, self._log.schema) if has_none else self._live()
        rows = found.drop("_deleted", "_batch")
        return rows if self.count <= _SMALL_ROWS else rows.hint("shuffle_hash")

    @property
    def leaves(self) -> tuple[DataFrame, ...]:
        """The frames that `read` is built from."""
        return tuple(layer.frame for layer in (self._base, self._recent) if layer is not None)

    def apply(self, changes: Materialized) -> None:
        """Take a committed batch's changes in."""
        if changes.count <= (_SMALL_ROWS if self._batches.are_few else _FOLD_ROWS):
            self._take_in(changes.frame, changes.count)
            return
        newest = self._batches.materialize(newest_per_key(changes.frame, self._keys))  # it is read twice
        self._take_in(newest.frame, newest.count)
        newest.release()

    def drop(self) -> None:
        """Forget the cached copy; the log still holds everything."""
        for layer in (self._base, self._recent):
            if layer is not None:
                layer.release()
        self._base = self._recent = None

    def store_current(self, stored: Stored, batch: int) -> None:
        """Write the current rows where plain Delta readers, and the next start, find them."""
        rows, marker = self._live().drop("_deleted"), {"query": stored.query, "batch": batch, **self._origin()}
        if self.count > _SMALL_ROWS:
            stored.table.replace(rows, marker)
            return
        current = self._batches.compute(self._name("current"), lambda: rows, *self.leaves)
        stored.table.replace(current, marker)
        current.release()

    def _take_in(self, changes: DataFrame, count: int) -> None:
        if self._recent is None and self.count + count <= _FOLD_ROWS:
            base = self._loaded(self._base)
            self._base = self._cached(
                "rows", lambda: self._folded(base.frame, changes), base.count + count, base.frame, changes
            )
            base.release()
            return
        former = self._recent or self._batches.nothing(self._name("recent"), self._log.schema)
        self._recent = self._cached(
            "recent", lambda: self._changed(former.frame, changes), former.count + count, former.frame, changes
        )
        former.release()
        if self._recent.count > max(_FOLD_ROWS, _count(self._base) // _FOLD_SHARE):
            self._fold()

    def _fold(self) -> None:
        """Make one layer of the two."""
        leaves = (self._loaded(self._base).frame, self._loaded(self._recent).frame)
        folded = self._cached("rows", self._live, self.count, *leaves)
        self.drop()
        self._base = folded

    def _folded(self, base: DataFrame, changes: DataFrame) -> DataFrame:
        return self._changed(base, changes).where("not _deleted")

    def _changed(self, rows: DataFrame, changes: DataFrame) -> DataFrame:
        newest = newest_per_key(changes, self._keys)
        return _without(rows, newest.hint("shuffle_hash"), self._keys).unionByName(newest)

    def _live(self) -> DataFrame:
        base = self._loaded(self._base).frame
        if self._recent is None:
            return base
        old = _without(base, self._recent.frame, self._keys)
        return old.unionByName(self._recent.frame.where("not _deleted"))

    @staticmethod
    def _loaded(layer: Materialized | None) -> Materialized:
        assert layer is not None, "state is read before it is loaded"
        return layer

    def _cached(self, layer: str, make: Callable[[], DataFrame], at_most: int, *leaves: DataFrame) -> Materialized:
        """Cache rows as one partition while they are few, else spread by key."""
        if at_most > _SMALL_ROWS:
            return self._batches.materialize(make().repartition(*self._keys))
        return self._batches.compute(self._name(layer), lambda: make().coalesce(1), *leaves)

    def _name(self, layer: str) -> str:
        return f"{self._log.path.parent.name}.{self._log.path.name} {layer}"


def _without(rows: DataFrame, others: DataFrame, keys: Sequence[str]) -> DataFrame:
    same = [rows[key].eqNullSafe(others[key]) for key in keys]
    return rows.join(others, same, "left_anti")


def _count(layer: Materialized | None) -> int:
    return layer.count if layer else 0
