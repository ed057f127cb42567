"""What a model may read: bronze relations with typed data, and tables of other queries as of a version."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from headrace.engine.classify import parsed
from headrace.project.model import LANDING_COLUMNS, Topic

ARRIVAL = "struct<landing_batch: bigint, topic: string, partition: int, offset: bigint>"


def landing_schema() -> StructType:
    """Schema of every landing table."""
    return StructType.fromDDL(", ".join(f"`{name}` {ddl}" for name, ddl in LANDING_COLUMNS))


def bronze(landed: DataFrame, topic: Topic) -> DataFrame:
    """A topic's usable rows: the landing columns, the parsed value as `data`, and `_arrival`."""
    usable = landed.where((F.col("topic") == topic.topic) & F.col("reject_reason").isNull())
    arrival = F.struct("landing_batch", "topic", "partition", "offset").alias("_arrival")
    return usable.select(*[name for name, _ in LANDING_COLUMNS], parsed(topic).alias("data"), arrival)


def empty(session: SparkSession, schema: StructType) -> DataFrame:
    """No rows of this schema."""
    return session.createDataFrame([], schema)
