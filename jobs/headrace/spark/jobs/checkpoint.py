"""Any number of rows, computed once and held by Spark's executors."""

from __future__ import annotations

from pyspark.sql import DataFrame

from headrace.spark.materialized import Materialized

_MORE_THAN_ANY = 1_000_000
"""More partitions than any batch has."""


class Checkpointed(Materialized):
    """Rows in the executors' memory and on their disks."""

    def release(self) -> None:
        self.frame.unpersist()

    def narrowed(self, fewer: DataFrame) -> Materialized:
        found = checkpoint(fewer)
        self.release()
        return found


def checkpoint(frame: DataFrame) -> Checkpointed:
    """Compute a frame now; its plan is cut, so plans never grow from batch to batch.

    The rows are cached, too: of those that were cut off, Spark only knows the product of the sizes of what was joined.
    What reads its own past would double the digits of that number with every batch, until planning takes minutes.

    Between the two, `coalesce` drops the order of the rows, not a partition. Spark stores that order by the names that
    columns had before its optimizer renamed them, and cached rows fail on a name that they do not have.
    """
    cut = frame.localCheckpoint().coalesce(_MORE_THAN_ANY).persist()
    return Checkpointed(cut, cut.count())
