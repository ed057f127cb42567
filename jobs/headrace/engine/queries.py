"""The three kinds of queries, each made from what a project declares."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from headrace.engine.group import Group
from headrace.engine.native import NativeQuery
from headrace.engine.snapshot import SnapshotQuery
from headrace.layout import Layout
from headrace.project.model import Project, Query

AnyQuery = Group | NativeQuery | SnapshotQuery


def make(
    spark: SparkSession, project: Project, layout: Layout, query: Query, schemas: Mapping[str, StructType]
) -> AnyQuery:
    """A query that knows nothing but what is stored."""
    kinds: Mapping[str, type[AnyQuery]] = {"streaming": NativeQuery, "snapshot": SnapshotQuery}
    return kinds.get(query.engine, Group)(spark, project, layout, query, schemas)
