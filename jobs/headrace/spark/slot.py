"""Frames that stay the same while their few rows are replaced, so that plans over them stay valid."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import count
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from headrace.spark.columns import no_rows
from headrace.spark.driver_java import driver_task, plan_nodes
from headrace.spark.jvm import frame_of, java_array, objects, scala_object
from headrace.spark.local import internal_rows, java_rows
from headrace.spark.materialized import Materialized, materialize
from headrace.spark.parquet import ParquetFiles

_FEW_BYTES = 8_000
_NUMBERS = count()


@dataclass(frozen=True)
class Rows:
    """A few rows in the driver's JVM: an array of Spark's own rows."""

    array: Any

    @classmethod
    def numbers(cls, session: SparkSession, *numbers: int) -> Rows:
        """One row of numbers: of type int up to 32 bits, else of type bigint, as which Spark also has timestamps."""
        jvm = _jvm(session)
        row = jvm.org.apache.spark.sql.catalyst.expressions.GenericInternalRow(objects(session, *numbers))
        return cls(java_array(session, jvm.org.apache.spark.sql.catalyst.InternalRow, [row]))

    @classmethod
    def given(cls, session: SparkSession, values: Iterable[Sequence[Any]], schema: StructType) -> Rows:
        """Rows of Python's values."""
        return cls(internal_rows(session, values, schema))

    @classmethod
    def internal(cls, session: SparkSession, values: Iterable[Sequence[Any]], schema: StructType) -> Rows:
        """Rows of values as Spark has them inside: a time is a number of microseconds since 1970."""
        return cls(java_rows(session, list(values), schema))

    @classmethod
    def none(cls, session: SparkSession) -> Rows:
        """No rows."""
        return cls(java_array(session, _jvm(session).org.apache.spark.sql.catalyst.InternalRow, []))

    @classmethod
    def of(cls, found: Materialized) -> Rows:
        """The rows of a small frame that is kept in memory."""
        if isinstance(found, Filled):
            return found.rows
        if not found.count:
            return cls.none(found.frame.sparkSession)
        return cls(found.frame._jdf.queryExecution().logical().rdd().collect())

    @classmethod
    def joined(cls, session: SparkSession, parts: Sequence[Rows]) -> Rows:
        """All rows of several, in order."""
        return cls(reduce(driver_task(session).joined, [part.array for part in parts]))

    def bytes(self, session: SparkSession) -> int:
        """How much memory they take."""
        return int(driver_task(session).bytes(self.array))

    def __len__(self) -> int:
        return len(self.array)


class Slot:
    """One partition, one block, which the driver keeps in memory; executors fetch it from there."""

    def __init__(self, session: SparkSession, schema: StructType) -> None:
        self._jvm = _jvm(session)
        self.schema = schema
        self._session = session
        self._blocks = self._jvm.org.apache.spark.SparkEnv.get().blockManager()
        self._block = self._jvm.org.apache.spark.storage.StreamBlockId(0, next(_NUMBERS))
        self._tag = self._jvm.scala.reflect.ClassTag.Any()
        self._task = driver_task(session)
        self._files: ParquetFiles | None = None
        self._has_executors = not session.sparkContext._jsc.isLocal()  # others than this JVM, to be told of blocks
        self.frame = self._over(schema)

    def filled(self, rows: Rows) -> Filled:
        """Replace the rows."""
        self._task.keep(self._block, rows.array, self._has_executors)
        return Filled(self.frame, len(rows), rows, self)

    def clear(self) -> None:
        """Give the memory back; the frame has no rows to be read until it is filled again."""
        self._blocks.removeBlock(self._block, self._has_executors)

    def write(self, rows: Rows, file: Path) -> None:
        """Write rows like those that it holds into a Parquet file."""
        if self._files is None:
            self._files = ParquetFiles(self._session, self.schema)
        self._files.write(rows.array, file)

    def _over(self, schema: StructType) -> DataFrame:
        """A frame of which Spark knows that it is one partition: no plan over it has to bring rows together."""
        jvm, spark = self._jvm, self._session._jsparkSession
        columns = no_rows(self._session, schema)._jdf.queryExecution().analyzed().output()
        none = jvm.scala.Option.empty()
        single = scala_object(jvm.org.apache.spark.sql.catalyst.plans.physical, "SinglePartition")
        unordered = scala_object(jvm.scala.collection.immutable, "Nil")
        told = (columns, self._rdd(), single, unordered, False, none, spark, self._size(), none)
        rows = jvm.org.apache.spark.sql.execution.LogicalRDD(*told)
        return frame_of(self._session, rows)

    def _rdd(self) -> Any:
        blocks = java_array(self._session, self._jvm.org.apache.spark.storage.BlockId, [self._block])
        return self._jvm.org.apache.spark.rdd.BlockRDD(self._session.sparkContext._jsc.sc(), blocks, self._tag)

    def _size(self) -> Any:
        """What Spark is to expect: little, or it would never send these rows to those of a large table."""
        return self._jvm.scala.Option.apply(plan_nodes(self._session).ofSize(_FEW_BYTES))


@dataclass(frozen=True)
class Filled(Materialized):
    """What a slot holds until it is filled again."""

    rows: Rows
    slot: Slot

    def release(self) -> None:
        """Nothing to do: the next rows take the place of these."""

    def write(self, folder: Path) -> None:
        """Without a job."""
        self.slot.write(self.rows, folder / "part-00000.snappy.parquet")

    def narrowed(self, fewer: DataFrame) -> Materialized:
        """Plans over the slot stay valid."""
        found = materialize(fewer)
        filled = self.slot.filled(Rows.of(found))
        found.release()
        return filled


def _jvm(session: SparkSession) -> Any:
    return session._jvm
