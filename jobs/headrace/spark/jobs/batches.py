"""`SmallBatches` as jobs: SQL is planned for each batch, and few rows travel to the driver and back as Arrow tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from headrace.spark.arrow import as_frame, table_of
from headrace.spark.columns import nullable
from headrace.spark.jobs.arrow import ArrowRows, collected, concatenated
from headrace.spark.jobs.checkpoint import Checkpointed, checkpoint
from headrace.spark.materialized import Materialized, Nothing, with_batch
from headrace.spark.session import SMALL_BATCH_ROWS
from headrace.spark.small_batches import SmallBatches

if TYPE_CHECKING:
    import pyarrow as pa


_EXCLUDED_RULES = "spark.sql.optimizer.excludedRules"
_ROWS_WHILE_PLANNING = "org.apache.spark.sql.catalyst.optimizer.ConvertToLocalRelation"
"""It computes rows from Arrow while Spark plans. Where Java's stack overflows there, Spark never answers."""


class JobBatches(SmallBatches):
    """Nothing is kept between batches."""

    def __init__(self, session: SparkSession) -> None:
        super().__init__(session)
        excluded = [rule for rule in (session.conf.get(_EXCLUDED_RULES, "") or "").split(",") if rule]
        if _ROWS_WHILE_PLANNING not in excluded:  # a session may have had others before
            session.conf.set(_EXCLUDED_RULES, ",".join([*excluded, _ROWS_WHILE_PLANNING]))

    def compute_few(self, name: str, make: Callable[[], DataFrame], *leaves: DataFrame) -> Materialized:
        frame = make()
        table = collected(frame.limit(SMALL_BATCH_ROWS + 1))
        if table.num_rows > SMALL_BATCH_ROWS:
            return self.materialize(make())
        return self._of(table, frame.schema)

    def text(self, name: str, make: Callable[[], DataFrame], *leaves: DataFrame) -> str:
        (row,) = make().collect()
        return str(row[0])

    def materialize(self, frame: DataFrame) -> Checkpointed:
        return checkpoint(frame)

    def fill(self, name: str, values: Iterable[Sequence[Any]], schema: StructType) -> Materialized:
        return self._of(table_of(self.session, [*values], schema), schema)

    def put(self, name: str, found: Materialized) -> Materialized:
        if found.count > SMALL_BATCH_ROWS or found.held is not None:
            return found
        rows = self._of(collected(found.frame), found.frame.schema)
        found.release()
        return rows

    def take(self, name: str, parts: Sequence[Any], schema: StructType) -> Materialized:
        return self._of(concatenated(self.session, parts, schema), schema)

    def hold(self, frame: DataFrame) -> pa.Table:
        return collected(frame)

    def frame_of(self, parts: Sequence[Any], schema: StructType) -> DataFrame:
        return as_frame(self.session, concatenated(self.session, parts, schema), schema)

    def nothing(self, name: str, schema: StructType) -> Materialized:
        return Nothing.of(self.session, schema)

    def with_batch(self, rows: DataFrame) -> DataFrame:
        return with_batch(rows, self._batch)

    def drop(self) -> None:
        """Nothing to forget."""

    def _of(self, table: pa.Table, schema: StructType) -> Materialized:
        if not table.num_rows:
            return Nothing.of(self.session, nullable(schema))
        return ArrowRows(as_frame(self.session, table, schema), table.num_rows, table)
