"""Buffers of a few rows: a frame that stays the same while its rows are replaced, so that plans over it stay valid."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from headrace.spark.columns import no_rows
from headrace.spark.driver.java import driver_task, plan_nodes
from headrace.spark.driver.parquet_writer import ParquetWriter
from headrace.spark.driver.rows import Rows, collected
from headrace.spark.jvm import frame_of, java_array, java_class, scala_object
from headrace.spark.materialized import Materialized
from headrace.store import durable
from headrace.store.paths import ObjectPath, StorePath

_FEW_BYTES = 8_000
_NUMBERS = count()


class Buffer:
    """One partition, one block, which the driver keeps in memory; executors fetch it from there."""

    def __init__(self, session: SparkSession, schema: StructType) -> None:
        self._jvm = _jvm(session)
        self.schema = schema
        self._session = session
        self._blocks = java_class(self._jvm, "org.apache.spark.SparkEnv").get().blockManager()
        self._block = java_class(self._jvm, "org.apache.spark.storage.StreamBlockId")(0, next(_NUMBERS))
        self._tag = java_class(self._jvm, "scala.reflect.ClassTag").Any()
        self._task = driver_task(session)
        self._files: ParquetWriter | None = None
        self._has_executors = not session.sparkContext._jsc.isLocal()  # others than this JVM, which must know of blocks
        self.frame = self._over(schema)

    def filled(self, rows: Rows) -> Buffered:
        """Replace the rows."""
        self._task.keep(self._block, rows.array, self._has_executors)
        return Buffered(self.frame, len(rows), rows, self)

    def clear(self) -> None:
        """Give the memory back; the frame has no rows to be read until it is filled again."""
        self._blocks.removeBlock(self._block, self._has_executors)

    def write(self, rows: Rows, file: StorePath) -> None:
        """Write rows like those that it holds into a Parquet file."""
        if self._files is None:
            self._files = ParquetWriter(self._session, self.schema)
        if not isinstance(file, ObjectPath):
            self._files.write(rows.array, file)
            return
        with TemporaryDirectory(prefix="headrace-") as folder:  # Hadoop would make nine requests of this one
            draft = Path(folder) / file.name
            self._files.write(rows.array, draft)
            durable.write_bytes(file, draft.read_bytes())

    def _over(self, schema: StructType) -> DataFrame:
        """A frame of which Spark knows that it is one partition: no plan over it has to bring rows together."""
        jvm, spark = self._jvm, self._session._jsparkSession
        columns = no_rows(self._session, schema)._jdf.queryExecution().analyzed().output()
        none = java_class(jvm, "scala.Option").empty()
        single = scala_object(jvm, "org.apache.spark.sql.catalyst.plans.physical.SinglePartition")
        unordered = scala_object(jvm, "scala.collection.immutable.Nil")
        arguments = (columns, self._rdd(), single, unordered, False, none, spark, self._size(), none)
        rows = java_class(jvm, "org.apache.spark.sql.execution.LogicalRDD")(*arguments)
        return frame_of(self._session, rows)

    def _rdd(self) -> Any:
        blocks = java_array(self._session, java_class(self._jvm, "org.apache.spark.storage.BlockId"), [self._block])
        context = self._session.sparkContext._jsc.sc()
        return java_class(self._jvm, "org.apache.spark.rdd.BlockRDD")(context, blocks, self._tag)

    def _size(self) -> Any:
        """What Spark is to expect: little, or it would never send these rows to those of a large table."""
        return java_class(self._jvm, "scala.Option").apply(plan_nodes(self._session).ofSize(_FEW_BYTES))


@dataclass(frozen=True)
class Buffered(Materialized):
    """What a buffer holds until it is filled again."""

    rows: Rows
    buffer: Buffer

    @property
    def held(self) -> Rows:
        return self.rows

    def release(self) -> None:
        """Nothing to do: the next rows take the place of these."""

    def write(self, folder: StorePath) -> None:
        """Without a job."""
        self.buffer.write(self.rows, folder / "part-00000.snappy.parquet")

    def narrowed(self, fewer: DataFrame) -> Materialized:
        """Plans over the buffer stay valid."""
        return self.buffer.filled(collected(fewer))


def _jvm(session: SparkSession) -> Any:
    return session._jvm
