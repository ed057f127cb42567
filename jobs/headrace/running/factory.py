"""Creates the three kinds of queries from the project's declarations."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from headrace.project.model import Project, Query
from headrace.queries.group import Group
from headrace.queries.snapshot import SnapshotQuery
from headrace.spark.small_batches import SmallBatches
from headrace.store.layout import Layout
from headrace.streaming.query import StreamedQuery

AnyQuery = Group | StreamedQuery | SnapshotQuery


def make(
    spark: SparkSession,
    project: Project,
    layout: Layout,
    query: Query,
    schemas: Mapping[str, StructType],
    batches: SmallBatches | None = None,
) -> AnyQuery:
    """A query that starts from its stored state only; `batches` may come from an earlier run, if it runs in batches."""
    if query.engine == "micro_batch":
        return Group(spark, project, layout, query, schemas, batches)
    kind = StreamedQuery if query.engine == "streaming" else SnapshotQuery
    return kind(spark, project, layout, query, schemas)
