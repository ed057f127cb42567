"""Any number of rows, computed once and held by Spark's executors."""

from __future__ import annotations

from pyspark.sql import DataFrame

from headrace.spark.materialized import Materialized


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
    """
    cut = frame.localCheckpoint().persist()
    return Checkpointed(cut, cut.count())
