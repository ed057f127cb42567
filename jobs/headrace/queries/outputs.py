"""What becomes of a model's rows in a micro-batch: an append table, or the change log and state of an upsert."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.functions import lit
from pyspark.sql.types import StructType

from headrace.project.declarations.macros import named_in
from headrace.project.model import Macro, Model
from headrace.queries.refused_changes import is_whole
from headrace.queries.sources import stored
from headrace.spark.materialized import Materialized
from headrace.spark.small_batches import SmallBatches
from headrace.store.commits import Commit
from headrace.store.layout import Layout
from headrace.store.paths import StorePath
from headrace.tables.closed_keys.index import KeyIndex
from headrace.tables.delta import CommitTable
from headrace.tables.state import KeyedState, Stored


class Output(Protocol):
    """A model's table inside its group: shape and narrow the rows, commit them, then take them in."""

    model: Model
    table: CommitTable

    def create(self) -> None:
        """Create the tables that are missing, so that readers find them before the first row."""

    def load(self, before_batch: int) -> None:
        """Prepare to run a batch, with everything as it stood before it."""

    def before(self) -> DataFrame:
        """The model's rows as of the last finished batch: what a plain read inside the group sees."""

    @property
    def leaves(self) -> tuple[DataFrame, ...]:
        """The frames that `before` is built from; the same ones as long as a plan over it stays valid."""

    def shaped(self, rows: DataFrame) -> DataFrame:
        """The rows that the batch alone would add to the table."""

    def narrowed(self, shaped: Materialized) -> Materialized:
        """Those of them that earlier batches let it add."""

    def settle(self, added: Materialized) -> None:
        """Take committed rows into what later batches look up."""

    def drop(self) -> None:
        """Forget all that is cached; the tables hold it."""


def output_for(
    batches: SmallBatches, layout: Layout, model: Model, schema: StructType, macros: Iterable[Macro] = ()
) -> Output:
    """The output of a stored model; `schema` is that of its query, and `macros` may stand in its expressions."""
    table = stored(batches.session, layout, model, schema)
    if model.materialized == "upsert":
        return UpsertOutput(batches, model, table, layout.table(model.table), macros)
    return AppendOutput(batches, model, table)


class AppendOutput:
    """Rows are added; with `once_per`, only the first row of each key ever, and all rows whose key has a null."""

    def __init__(self, batches: SmallBatches, model: Model, table: CommitTable) -> None:
        self.model = model
        self.table = table
        self._session = batches.session
        self._batch = 0
        self._once = (
            KeyIndex(batches, model.table, model.once_per, is_whole(model.once_per)) if model.once_per else None
        )

    def create(self) -> None:
        self.table.create()

    def load(self, before_batch: int) -> None:
        self._batch = before_batch
        if self._once:
            self._once.load(self.table, before_batch)

    def before(self) -> DataFrame:
        return self.table.before(self._session, self._batch).drop("_batch")

    @property
    def leaves(self) -> tuple[DataFrame, ...]:
        return (self.before(),)

    def shaped(self, rows: DataFrame) -> DataFrame:
        return _first_per_key(rows, self.model.once_per) if self._once else rows

    def narrowed(self, shaped: Materialized) -> Materialized:
        return self._once.unclosed(shaped) if self._once else shaped

    def settle(self, added: Materialized) -> None:
        if self._once:
            self._once.add(added, self._batch)
        self._batch += 1

    def drop(self) -> None:
        if self._once:
            self._once.drop()


class UpsertOutput:
    """Rows are changes, in arrival order; the newest per key is the current row until it is deleted or closed."""

    def __init__(
        self, batches: SmallBatches, model: Model, log: CommitTable, current: StorePath, macros: Iterable[Macro]
    ) -> None:
        self.model = model
        self.table = log
        self.state = KeyedState(batches, log, model.unique_key)
        self._query = model.query or model.name
        self._current = Stored.beside(log, current, self._query)
        self._unstored = False
        self.stored_bytes = 0
        """How large the rows were when they were written last."""
        self._batch = 0
        self._batches = batches
        self._session = batches.session
        self._closed = None
        if model.close_when:
            called = [macro.text for macro in named_in([model.close_when], tuple(macros))]
            self._closed = KeyIndex(batches, model.table, model.unique_key, _closing(model), called)

    def create(self) -> None:
        self.table.create()
        self._current.table.create()

    def load(self, before_batch: int) -> None:
        self._batch = before_batch
        self._unstored = before_batch > 0  # a previous run may have ended before it stored them
        self.state.load(before_batch, self._current)
        if self._closed:
            self._closed.load(self.table, before_batch)

    def before(self) -> DataFrame:
        return self.state.read()

    def past(self) -> DataFrame:
        """All changes before the batch, from the log."""
        return self.table.before(self._session, self._batch)

    @property
    def leaves(self) -> tuple[DataFrame, ...]:
        return self.state.leaves

    def shaped(self, rows: DataFrame) -> DataFrame:
        """Mark the rows that end a key and refuse two changes of a key that came at the same moment."""
        close = F.coalesce(F.expr(self.model.close_when or "false"), lit(False))
        delete = F.coalesce(F.expr(self.model.delete_when or "false"), lit(False))
        deleted = close | delete
        if self._clashes_are_counted:
            return rows.withColumn("_deleted", deleted)
        in_order = Window.partitionBy(*self.model.unique_key).orderBy("_arrival")
        whole = F.expr(is_whole(self.model.unique_key))  # rows without a whole key are set aside behind this
        same = whole & F.lag("_arrival").over(in_order).eqNullSafe(F.col("_arrival"))
        deleted = F.when(same, self._clash()).otherwise(deleted)
        if self.model.close_when is None:
            return rows.withColumn("_deleted", deleted)
        so_far = in_order.rowsBetween(Window.unboundedPreceding, -1)
        after_close = F.coalesce(F.max(close).over(so_far), lit(False))
        marked = rows.withColumns({"_deleted": deleted, "_after_close": after_close})
        return marked.where(~F.col("_after_close") | ~whole).drop("_after_close")

    def narrowed(self, shaped: Materialized) -> Materialized:
        if self._clashes_are_counted:
            moments = shaped.frame.groupBy(*self.model.unique_key, "_arrival").count()
            moments.where("count > 1").select(self._clash()).collect()
        return self._closed.unclosed(shaped) if self._closed else shaped

    @property
    def _clashes_are_counted(self) -> bool:
        """Whether changes of one moment are looked for once all are there: many wide rows are expensive to sort."""
        return not self._batches.are_few and self.model.close_when is None

    def _clash(self) -> Column:
        """Fails, and names the key."""
        keys = F.to_json(F.struct(*self.model.unique_key))
        message = lit(f"{self.model.path}: two rows of one key with the same _arrival: ")
        return F.raise_error(F.concat(message, keys))

    def settle(self, added: Materialized) -> None:
        batch, self._batch = self._batch, self._batch + 1
        if not added.count:
            return
        self.state.apply(added)
        self._unstored = True
        if self._closed:
            self._closed.add(added, batch)

    def store_current(self, batch: int) -> None:
        """Write the rows as of `batch` for plain Delta readers, if any has changed since the last time."""
        if not self._unstored:
            return
        if not self._is_stored():
            self.state.store_current(self._current, batch)
        newest = self._current.newest()
        self.stored_bytes = newest.bytes if newest else 0
        self._unstored = False

    def _is_stored(self) -> bool:
        """Whether the rows are written as of the newest change, and nobody has removed any since."""
        newest = self._current.newest()
        changed = self.table.newest_marker(self._query)
        if changed is None:
            return True
        return newest is not None and newest.batch >= changed.batch and self._current.table.is_as_left(newest)

    def drop(self) -> None:
        self.state.drop()
        if self._closed:
            self._closed.drop()


def keyed_changes(model: Model, rows: DataFrame) -> DataFrame:
    """Rows of a batch as changes of an upsert that have no order, so that there is one for each key."""
    delete = F.coalesce(F.expr(model.delete_when or "false"), lit(False))
    return one_per_key(rows, model.unique_key, F.expr(is_whole(model.unique_key))).withColumn("_deleted", delete)


def _closing(model: Model) -> str:
    """The changes that close their key permanently."""
    return f"_deleted and coalesce({model.close_when}\n, false)"


def committed_rows(batches: SmallBatches, output: Output, commit: Commit) -> Materialized:
    """The rows that a previous run of the batch already committed."""
    return batches.put(output.model.table, batches.materialize(output.table.rows(batches.session, commit)))


def commit(output: Output, added: Materialized, marker: Mapping[str, Any]) -> int | None:
    """Append a batch's rows in one commit; an empty batch writes nothing, so that no query downstream wakes."""
    if not added.count:
        return None
    return output.table.append(added, {**marker, "rows": added.count})


def _first_per_key(rows: DataFrame, keys: tuple[str, ...]) -> DataFrame:
    """The first row of each key, and every row whose key has a null: no two of those are known to be the same."""
    if "_arrival" not in rows.columns:
        return one_per_key(rows, keys, F.expr(is_whole(keys)))
    window = Window.partitionBy(*keys).orderBy("_arrival")
    ranked = rows.withColumn("_number", F.row_number().over(window))
    return ranked.where(f"_number = 1 or not ({is_whole(keys)})").drop("_number")


def one_per_key(rows: DataFrame, keys: tuple[str, ...], is_key: Column | None = None) -> DataFrame:
    """The same rows; an error where two have the same key, if it is one."""
    clash = F.concat(lit("two rows of one key in a batch, and no _arrival to order them: "), F.to_json(F.struct(*keys)))
    many = F.count(lit(1)).over(Window.partitionBy(*keys)) > 1
    clashes = many if is_key is None else many & is_key
    return (
        rows.withColumn("_one", F.when(clashes, F.raise_error(clash)).otherwise(lit(True))).where("_one").drop("_one")
    )
