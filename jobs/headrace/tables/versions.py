"""The two versions of a model that is being rebuilt: its live rows, and the rebuilt ones."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from headrace.errors import HeadraceError
from headrace.project import rebuilds
from headrace.project.model import Model, Project
from headrace.project.rebuilds import Rebuild
from headrace.spark.session import child
from headrace.store.layout import Layout
from headrace.store.maintenance import retention
from headrace.store.paths import spark_uri
from headrace.tables.diff import Difference, compare
from headrace.tables.state import newest_per_key


def difference(spark: SparkSession, project: Project, rebuild: Rebuild, table: str, most: int) -> Difference:
    """Compare the live rows, as of the batch that the rebuild has caught up with, with the rebuilt ones."""
    session, model, live = child(spark, "diff"), project.model(table), project.target.layout
    session.conf.set("spark.sql.shuffle.partitions", str(session.sparkContext.defaultParallelism))
    upto = rebuild.batches.get(model.query or model.name)
    running = _rows(session, live, model, upto)
    beside = _rows(session, rebuilds.beside(live, rebuild, project.queries), model, None)
    return compare(running, beside, model.unique_key or model.once_per, most)


def _rows(session: SparkSession, layout: Layout, model: Model, upto: int | None) -> DataFrame:
    """A model's rows, with the columns that the table has, as of a batch."""
    is_upsert = model.materialized == "upsert"
    path = layout.appended(model.table, is_upsert)
    rows = session.read.format("delta").load(spark_uri(path))
    if upto is not None and is_upsert and retention.read(path).gone.batch > upto:
        raise HeadraceError(
            f"{model.table}: its `keep` has let changes leave that were made before the rebuild, so the two cannot be "
            f"compared; drop the rebuild with `headrace rebuild {model.query or model.name} --drop`, and start it again"
        )
    if upto is not None:
        rows = rows.where(F.col("_batch") <= upto)
    return newest_per_key(rows, model.unique_key).where("not _deleted") if is_upsert else rows
