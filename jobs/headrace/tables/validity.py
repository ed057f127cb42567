"""The versions of an upsert's rows: since when each held, and until when, by arrival."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from headrace.project.flows.versions import VALID_FROM, VALID_TO
from headrace.tables.state import order_of

_BOOKKEEPING = ("_deleted", "_batch")


def all_versions(changes: DataFrame, keys: Sequence[str]) -> DataFrame:
    """Every version of every key, of all changes that there are."""
    in_order = Window.partitionBy(*keys).orderBy(*order_of(changes))
    return _valid(changes.withColumn(VALID_TO, F.lead("_arrival").over(in_order)))


def newest_versions(current: DataFrame, changes: DataFrame, keys: Sequence[str]) -> DataFrame:
    """The versions that hold for what arrives in a batch: the rows before it, and those of its own changes."""
    named = {key: f"_changed_{number}" for number, key in enumerate(keys)}
    first = changes.groupBy(*[F.col(key).alias(name) for key, name in named.items()]).agg(
        F.min("_arrival").alias(VALID_TO)
    )
    same = [current[key].eqNullSafe(first[name]) for key, name in named.items()]
    before = current.join(first.hint("shuffle_hash"), same, "left").drop(*named.values())
    before = before.withColumn(VALID_FROM, F.col("_arrival"))
    return before.unionByName(all_versions(changes, keys))


def _valid(changes: DataFrame) -> DataFrame:
    return changes.where("not _deleted").withColumn(VALID_FROM, F.col("_arrival")).drop(*_BOOKKEEPING)
