"""What a model may read: bronze relations with typed data, and tables of other queries as of a version."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, StructField, StructType

from headrace.engine.classify import parsed
from headrace.project.model import LANDING_COLUMNS, Topic


def landing_schema() -> StructType:
    """Schema of every landing table."""
    return columns_of(dict(LANDING_COLUMNS))


def columns_of(types: Mapping[str, str]) -> StructType:
    """The schema of columns given by name and DDL type."""
    return StructType([StructField(name, DataType.fromDDL(ddl)) for name, ddl in types.items()])


def bronze(landed: DataFrame, topic: Topic) -> DataFrame:
    """A topic's usable rows: the landing columns, the parsed value as `data`, and `_arrival`."""
    usable = landed.where((F.col("topic") == topic.topic) & F.col("reject_reason").isNull())
    arrival = F.struct("landing_batch", "topic", "partition", "offset").alias("_arrival")
    return usable.select(*[name for name, _ in LANDING_COLUMNS], parsed(topic).alias("data"), arrival)
