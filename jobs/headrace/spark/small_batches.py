"""The interface behind which batches run: few rows by one of two implementations, many as plain Spark jobs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from threading import get_ident
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from headrace.spark.materialized import Held, Materialized, Nothing
from headrace.spark.session import SMALL_BATCH_ROWS, tune


class SmallBatches(ABC):
    """Computes the batches of one query; `begin` says how many rows each has.

    Everything computed has a name: the same name stands for the same SQL over the same leaves, batch after batch. An
    implementation may therefore cache the plan of a name, and may put new rows in the place of the last batch's.
    """

    def __init__(self, session: SparkSession) -> None:
        self.session = session
        self.are_few = False
        self._tuned: tuple[bool, int] | None = None
        self._batch = 0
        self._described = session.sparkContext.uiWebUrl is not None  # descriptions are for Spark's UI alone

    def begin(self, batch: int, rows: int) -> None:
        """Prepare for a batch of about this many rows; it is small if they are at most `SMALL_BATCH_ROWS`."""
        self._batch = batch
        if self._described:
            self._describe(batch)
        wanted = (rows <= SMALL_BATCH_ROWS, get_ident())  # a session is set up for a size, and on a thread
        if wanted != self._tuned:
            tune(self.session, rows)
        self._tuned = wanted
        self.are_few = wanted[0]

    def _describe(self, batch: int) -> None:
        """Name the thread's jobs after the query, whose scheduler pool has its name, and after its batch."""
        context = self.session.sparkContext
        context.setJobDescription(f"{context.getLocalProperty('spark.scheduler.pool') or 'headrace'} batch {batch}")

    def compute(self, name: str, make: Callable[[], DataFrame], *leaves: DataFrame) -> Materialized:
        """The rows of `make()`, which reads `leaves`."""
        if self.are_few:
            return self.compute_few(name, make, *leaves)
        found = self.materialize(make())
        if found.count:
            return found
        found.release()
        return Nothing.of(self.session, found.frame.schema)

    @abstractmethod
    def compute_few(self, name: str, make: Callable[[], DataFrame], *leaves: DataFrame) -> Materialized:
        """The same in a small batch; the rows may turn out to be many."""

    @abstractmethod
    def text(self, name: str, make: Callable[[], DataFrame], *leaves: DataFrame) -> str:
        """The only value of `make()`, a string, which reads `leaves`."""

    @abstractmethod
    def materialize(self, frame: DataFrame) -> Materialized:
        """Compute a frame now, with a plan of its own. The plan is cut, so plans never grow from batch to batch."""

    @abstractmethod
    def fill(self, name: str, values: Iterable[Sequence[Any]], schema: StructType) -> Materialized:
        """A few rows from Python values; a time may be an integer in microseconds since 1970."""

    @abstractmethod
    def put(self, name: str, found: Materialized) -> Materialized:
        """Rows that were computed elsewhere; if they are few, they replace the last ones of this name."""

    @abstractmethod
    def take(self, name: str, parts: Sequence[Held], schema: StructType) -> Materialized:
        """The rows of several parts that are held, in order, under a name."""

    @abstractmethod
    def hold(self, frame: DataFrame) -> Held:
        """Compute a frame of few rows, and hold them."""

    @abstractmethod
    def frame_of(self, parts: Sequence[Held], schema: StructType) -> DataFrame:
        """Rows that are held as a frame that lasts, whatever other batches do."""

    @abstractmethod
    def nothing(self, name: str, schema: StructType) -> Materialized:
        """No rows in this batch, where another batch may have some."""

    @abstractmethod
    def with_batch(self, rows: DataFrame) -> DataFrame:
        """Add the bookkeeping column that names the batch a row came from."""

    @abstractmethod
    def drop(self) -> None:
        """Forget all plans and rows."""
