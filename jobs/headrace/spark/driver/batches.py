"""`SmallBatches` in the driver: plans are made once, over buffers whose rows are replaced."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import IntegerType, StructType

from headrace.spark.columns import nullable
from headrace.spark.driver.buffer import Buffer, Buffered
from headrace.spark.driver.checkpoint import Checkpointed, checkpoint
from headrace.spark.driver.plan_cache import CachedPlan
from headrace.spark.driver.rows import Rows, collected, local_frame
from headrace.spark.materialized import Materialized, Nothing, with_batch
from headrace.spark.session import SMALL_BATCH_ROWS
from headrace.spark.small_batches import SmallBatches

_BATCH = StructType().add("batch", IntegerType())


class DriverBatches(SmallBatches):
    """The cached plans of one query, by name, each with the buffer that takes its rows.

    A plan is made again when one of the frames it reads is another object than the last time. What a large batch
    computes is planned for that batch, and cached by Spark.
    """

    def __init__(self, session: SparkSession) -> None:
        super().__init__(session)
        self._plans: dict[str, CachedPlan] = {}
        self._buffers: dict[str, Buffer] = {}

    def begin(self, batch: int, rows: int) -> None:
        super().begin(batch, rows)
        if self.are_few:
            self.fill("batch", [(batch,)], _BATCH)

    def compute_few(self, name: str, make: Callable[[], DataFrame], *leaves: DataFrame) -> Materialized:
        plan = self._plan(name, make, leaves, SMALL_BATCH_ROWS + 1)
        rows = plan.rows()
        if len(rows) > SMALL_BATCH_ROWS:
            return self.materialize(make())
        return self._filled(name, rows, plan.schema)

    def text(self, name: str, make: Callable[[], DataFrame], *leaves: DataFrame) -> str:
        (row,) = self._plan(name, make, leaves, 1).rows().array
        return str(row.getUTF8String(0).toString())

    def materialize(self, frame: DataFrame) -> Checkpointed:
        return checkpoint(frame)

    def fill(self, name: str, values: Iterable[Sequence[Any]], schema: StructType) -> Buffered:
        return self._filled(name, Rows.of_values(self.session, values, schema), schema)

    def put(self, name: str, found: Materialized) -> Materialized:
        if found.count > SMALL_BATCH_ROWS:
            return found
        filled = self._filled(name, Rows.of(self.session, found), found.frame.schema)
        found.release()
        return filled

    def take(self, name: str, parts: Sequence[Any], schema: StructType) -> Materialized:
        rows = Rows.joined(self.session, parts)
        if self.are_few:
            return self._filled(name, rows, schema)
        return self.materialize(local_frame(self.session, rows.array, schema))

    def hold(self, frame: DataFrame) -> Rows:
        return collected(frame)

    def frame_of(self, parts: Sequence[Any], schema: StructType) -> DataFrame:
        return local_frame(self.session, Rows.joined(self.session, parts).array, schema)

    def nothing(self, name: str, schema: StructType) -> Materialized:
        """No rows, or a buffer of none, over which plans are cached."""
        if not self.are_few:
            return Nothing.of(self.session, schema)
        return self._filled(name, Rows.none(self.session), schema)

    def with_batch(self, rows: DataFrame) -> DataFrame:
        """The number is in a separate buffer, so that plans stay the same from batch to batch."""
        if not self.are_few:
            return with_batch(rows, self._batch)
        number = self._buffers["batch"].frame.select(F.col("batch").cast("bigint").alias("_batch"))
        return rows.join(number.hint("shuffle_replicate_nl"))

    def drop(self) -> None:
        for buffer in self._buffers.values():
            buffer.clear()
        self._plans, self._buffers = {}, {}

    def _filled(self, name: str, rows: Rows, schema: StructType) -> Buffered:
        return self._buffer(name, schema).filled(rows)

    def _plan(
        self, name: str, make: Callable[[], DataFrame], leaves: tuple[DataFrame, ...], at_most: int
    ) -> CachedPlan:
        plan = self._plans.get(name)
        if plan is None or not plan.is_valid_for(leaves):
            plan = self._plans[name] = CachedPlan(make(), leaves, at_most)
        return plan

    def _buffer(self, name: str, schema: StructType) -> Buffer:
        buffer, wanted = self._buffers.get(name), nullable(schema)
        if buffer is None or buffer.schema != wanted:
            buffer = self._buffers[name] = Buffer(self.session, wanted)
        return buffer
