"""What a publisher has sent of tables that swaps have put aside, and what of the new one is still to be sent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property, reduce
from operator import or_

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F
from pyspark.sql.functions import lit

from headrace.environment import swap
from headrace.errors import HeadraceError
from headrace.project.model import Model
from headrace.publishing.messages import message_columns
from headrace.publishing.progress import Progress
from headrace.store.layout import Layout
from headrace.tables.delta import CommitTable

Find = Callable[[str], CommitTable | None]
"""Finds the publisher's table by its id, also one that a swap has put aside."""

_ADDRESS = ("topic", "key")
_MESSAGE = ("topic", "key", "value")
_EXACT = {"timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX"}  # the JSON default would truncate a key to milliseconds
_SAME = "topic <=> _topic and key <=> _key"


def retired_tables(spark: SparkSession, layout: Layout, model: Model) -> Find:
    """Finds the tables of a model that swaps have put aside."""

    def find(table_id: str) -> CommitTable | None:
        for folder in swap.retired(layout):
            for path in (layout.within(folder).changes(model.table), layout.within(folder).table(model.table)):
                table = CommitTable.stored(spark, path)
                if table is not None and table.id() == table_id:
                    return table
        return None

    return find


class Unsent:
    """The messages of a table that has replaced another, without those that were sent from the other.

    A row of an append table counts as sent if one with the same `once_per` key was sent; without `once_per`, or with a
    null in the key, if the same message was sent as often.
    Of an upsert, the last message of each key is sent where another one was sent last, and a tombstone for a key that
    is gone. All of this depends only on stored rows and the progress, so a crash does not change it.
    """

    def __init__(self, session: SparkSession, model: Model, find: Find, progress: Progress) -> None:
        assert model.publish is not None
        self._session = session
        self._model = model
        self._publish = model.publish
        self._find = find
        self._progress = progress

    def messages(self) -> DataFrame:
        """Topic, key and value of all that was not sent, in order."""
        return self._pending(self._progress).select(*_MESSAGE)

    def _pending(self, progress: Progress) -> DataFrame:
        """What a table adds to those that it has replaced."""
        assert progress.replaced is not None
        rows, before = self._rows(replace(progress, position=0)), self._sent(progress.replaced)
        if self._model.materialized == "upsert":
            return _changed(rows, before)
        new = rows.join(before, ["_identity", "_nth"], "left_anti")
        return new.orderBy(*_order(rows), "key", "value", "_nth")

    def _sent(self, progress: Progress) -> DataFrame:
        """What was sent of a table and of those that it has replaced."""
        if progress.replaced is None:
            return self._rows(progress)
        begun, before = self._pending(progress).limit(progress.position), self._sent(progress.replaced)
        if self._model.materialized == "upsert":
            return _updated(before, begun)
        names = ("_identity", "_nth")
        return before.select(*names).unionByName(begun.select(*names)).distinct()

    def _rows(self, progress: Progress) -> DataFrame:
        """The rows before a place, with their messages and identity; of an upsert the last of each key."""
        table = self._table(progress)
        whole = (
            table.snapshot(self._session, progress.version - 1) if progress.version else table.no_rows(self._session)
        )
        rows = self._with_messages(whole)
        if progress.position:
            begun = self._with_messages(table.rows(self._session, table.commit(progress.version)))
            order = [name for name in _order(begun) if name != "_batch"]
            rows = rows.unionByName(begun.orderBy(*order, "key", "value").limit(progress.position))
        in_order = [F.col(name) for name in (*_order(rows), "key", "value")]
        if self._model.materialized == "upsert":
            newest = Window.partitionBy(*_ADDRESS).orderBy(*[column.desc() for column in in_order])
            return rows.withColumn("_nth", F.row_number().over(newest)).where("_nth = 1")
        return rows.withColumn("_nth", F.row_number().over(Window.partitionBy("_identity").orderBy(*in_order)))

    def _with_messages(self, rows: DataFrame) -> DataFrame:
        """Rows with their messages; where a column is missing, as in an older table, it is null."""
        order, missing = _order(rows), [name for name in self._columns if name not in rows.columns]
        rows = rows.withColumns({name: lit(None).cast("string") for name in missing})
        return rows.select(*order, *message_columns(self._publish), self._identity.alias("_identity"))

    @cached_property
    def _identity(self) -> Column:
        """The key or the message, as far as all of the tables have its columns."""
        shared = frozenset.intersection(*[frozenset(table.schema.names) for table in self._tables])
        fields = tuple((name, column) for name, column in self._publish.value if column in shared)
        message = F.to_json(F.struct(*message_columns(replace(self._publish, value=fields or self._publish.value))))
        if not self._model.once_per or not shared.issuperset(self._model.once_per):
            return message
        has_null = reduce(or_, (F.col(name).isNull() for name in self._model.once_per))
        return F.when(has_null, message).otherwise(F.to_json(F.struct(*self._model.once_per), _EXACT))

    @cached_property
    def _columns(self) -> frozenset[str]:
        return frozenset(name for table in self._tables for name in table.schema.names)

    @cached_property
    def _tables(self) -> list[CommitTable]:
        progress, found = self._progress, [self._table(self._progress)]
        while progress.replaced is not None:
            progress = progress.replaced
            found.append(self._table(progress))
        return found

    def _table(self, progress: Progress) -> CommitTable:
        found = self._find(progress.table_id)
        if found is None:
            raise HeadraceError(
                f"{self._model.table}: a table that it has replaced is not kept any more, so nobody knows which rows "
                f"were sent; run `headrace reset {self._model.query} --yes`, with --republish to send all again"
            )
        return found


def _changed(rows: DataFrame, before: DataFrame) -> DataFrame:
    """The last messages that differ from those sent last; where there is none any more, a tombstone."""
    met = rows.join(_as_old(before), F.expr(_SAME), "full_outer").where("not (value <=> _value)")
    address = [F.coalesce(name, f"_{name}").alias(name) for name in _ADDRESS]
    order = _order(rows)
    return met.select(*address, "value", *order).orderBy(*order, *_ADDRESS)


def _updated(before: DataFrame, begun: DataFrame) -> DataFrame:
    """Last messages, after some others."""
    left = before.select(*_MESSAGE).join(_as_old(begun), F.expr(_SAME), "left_anti")
    return left.unionByName(begun.select(*_MESSAGE))


def _as_old(rows: DataFrame) -> DataFrame:
    return rows.select(*[F.col(name).alias(f"_{name}") for name in _MESSAGE])


def _order(rows: DataFrame) -> list[str]:
    return [name for name in ("_batch", "_arrival") if name in rows.columns]
