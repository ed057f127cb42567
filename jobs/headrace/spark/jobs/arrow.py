"""A few rows as an Arrow table in the driver's Python."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from headrace.spark.arrow import arrow_schema, as_frame
from headrace.spark.materialized import Materialized

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class ArrowRows(Materialized):
    """Rows of an Arrow table."""

    table: pa.Table

    @property
    def held(self) -> pa.Table:
        return self.table

    def release(self) -> None:
        """Nothing to do: Python frees them."""

    def narrowed(self, fewer: DataFrame) -> Materialized:
        table = collected(fewer)
        return ArrowRows(as_frame(fewer.sparkSession, table, fewer.schema), table.num_rows, table)


def collected(frame: DataFrame) -> pa.Table:
    """The rows of a frame."""
    return frame.toArrow()


def concatenated(session: SparkSession, parts: Sequence[pa.Table], schema: StructType) -> pa.Table:
    """All rows of several tables, in order."""
    import pyarrow as pa

    kinds = arrow_schema(session, schema)
    return pa.concat_tables([part.cast(kinds) for part in parts]) if parts else kinds.empty_table()
