"""Plans that are made once and run for every small batch: planning costs more than the rows of one."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import get_ident
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import IntegerType, StructType

from headrace.spark.columns import nullable
from headrace.spark.driver_java import plan_nodes
from headrace.spark.jvm import scala_object
from headrace.spark.materialized import Materialized, Nothing, materialize, with_batch
from headrace.spark.partition import Partition
from headrace.spark.session import SMALL_BATCH_ROWS, tune
from headrace.spark.slot import Rows, Slot

_BROADCASTS = "spark.sql.autoBroadcastJoinThreshold"


class Plan:
    """The physical plan of a frame, run again and again over what the frame's leaves hold by then."""

    def __init__(self, frame: DataFrame, leaves: tuple[DataFrame, ...], at_most: int) -> None:
        """`leaves` are the frames it was made of; it ends after `at_most` rows."""
        self.schema = frame.schema
        self._leaves = leaves
        self._at_most = at_most
        self._jvm: Any = frame.sparkSession._jvm
        self._session = frame.sparkSession._jsparkSession
        self._made = _planned(frame)
        self._activate()
        self._plan = self._narrow(frame.sparkSession)
        self._partition = Partition.of(frame.sparkSession, self._plan, at_most)
        self._lasts: bool | None = None

    def _narrow(self, session: SparkSession) -> Any:
        """The plan of a single partition, without sending rows around where all of them lie in slots."""
        nodes, plan = plan_nodes(session), self._made.executedPlan()
        reads_slots = nodes.readsBlocksOnly(self._made.optimizedPlan())
        return nodes.single(nodes.gathered(plan) if reads_slots else plan)

    def reads(self, leaves: tuple[DataFrame, ...]) -> bool:
        """Whether it would be the same if it were made anew, over these frames."""
        same = len(leaves) == len(self._leaves) and all(map(operator.is_, leaves, self._leaves))
        return same and self._is_lasting()

    def rows(self) -> Rows:
        """Run it now. What runs as a job is a copy, since each node of a plan remembers what it has found out."""
        self._activate()
        if self._partition:
            return self._partition.rows()
        return Rows(self._plan.clone().executeTake(self._at_most))

    def _activate(self) -> None:
        """New nodes of a plan take the session that is active on this thread."""
        self._jvm.org.apache.spark.sql.classic.SparkSession.setActiveSession(self._session)

    def _is_lasting(self) -> bool:
        """Whether it holds no value that was true for one batch only: of a subquery, the clock or chance."""
        if self._lasts is None:
            patterns = scala_object(self._jvm.org.apache.spark.sql.catalyst.trees, "TreePattern")
            optimized = self._made.optimizedPlan()
            asks = optimized.containsPattern(patterns.PLAN_EXPRESSION())
            looks_at_clock = self._made.analyzed().containsPattern(patterns.CURRENT_LIKE())
            self._lasts = optimized.deterministic() and not asks and not looks_at_clock
        return self._lasts


def _planned(frame: DataFrame) -> Any:
    """The plan of a frame. Rows that all lie in slots are joined where they are: a broadcast is a job of its own."""
    made: Any = frame._jdf.queryExecution()
    if plan_nodes(frame.sparkSession).readsBlocksOnly(made.optimizedPlan()):
        with _without_broadcasts(frame.sparkSession):
            made.executedPlan()
    return made


@contextmanager
def _without_broadcasts(session: SparkSession) -> Iterator[None]:
    former = str(session.conf.get(_BROADCASTS))
    session.conf.set(_BROADCASTS, "-1")
    try:
        yield
    finally:
        session.conf.set(_BROADCASTS, former)


class Plans:
    """The kept plans of one query, by name, each with the slot that takes its rows.

    A plan is made anew when one of the frames it reads is another object than the last time. What a large batch
    computes is planned for that batch, and kept by Spark's own cache.
    """

    def __init__(self, session: SparkSession) -> None:
        self.are_kept = False
        self._tuned: tuple[bool, int] | None = None
        self.session = session
        self._plans: dict[str, Plan] = {}
        self._slots: dict[str, Slot] = {}
        self._batch = 0

    def begin(self, batch: int, rows: int) -> None:
        """Make ready for a batch of about so many rows."""
        self._batch = batch
        self._tune(rows)
        if self.are_kept:
            self._slot("batch", StructType().add("batch", IntegerType())).filled(Rows.numbers(self.session, batch))

    def _tune(self, rows: int) -> None:
        """Set the session up, unless it is already: for batches of this size, and on this thread."""
        wanted = (rows <= SMALL_BATCH_ROWS, get_ident())
        if wanted != self._tuned:
            tune(self.session, rows)
        self._tuned = wanted
        self.are_kept = wanted[0]

    def compute(self, name: str, make: Callable[[], DataFrame], *leaves: DataFrame) -> Materialized:
        """The rows of `make()`, which reads `leaves`."""
        if not self.are_kept:
            return self._computed(make())
        plan = self._plan(name, make, leaves, SMALL_BATCH_ROWS + 1)
        rows = plan.rows()
        if len(rows) > SMALL_BATCH_ROWS:
            return materialize(make())
        return self.fill(name, rows, plan.schema)

    def _computed(self, frame: DataFrame) -> Materialized:
        found = materialize(frame)
        if found.count:
            return found
        found.release()
        return Nothing.of(self.session, frame.schema)

    def text(self, name: str, make: Callable[[], DataFrame], *leaves: DataFrame) -> str:
        """The only value of `make()`, a string, which reads `leaves`."""
        (row,) = self._plan(name, make, leaves, 1).rows().array
        return str(row.getUTF8String(0).toString())

    def put(self, name: str, found: Materialized) -> Materialized:
        """Rows that come from elsewhere, in a slot if they are few."""
        if found.count > SMALL_BATCH_ROWS:
            return found
        filled = self.fill(name, Rows.of(found), found.frame.schema)
        found.release()
        return filled

    def fill(self, name: str, rows: Rows, schema: StructType) -> Materialized:
        """Few rows that come from elsewhere, in a slot."""
        return self._slot(name, schema).filled(rows)

    def nothing(self, name: str, schema: StructType) -> Materialized:
        """No rows, where there may be some in another batch: of a plan that is kept, they have a place."""
        if not self.are_kept:
            return Nothing.of(self.session, schema)
        return self.fill(name, Rows.none(self.session), schema)

    def with_batch(self, rows: DataFrame) -> DataFrame:
        """Add the bookkeeping column that names the batch a row came from."""
        if not self.are_kept:
            return with_batch(rows, self._batch)
        number = self._slots["batch"].frame.select(F.col("batch").cast("bigint").alias("_batch"))
        return rows.join(number.hint("shuffle_replicate_nl"))

    def drop(self) -> None:
        """Forget all plans and rows."""
        for slot in self._slots.values():
            slot.clear()
        self._plans, self._slots = {}, {}

    def _plan(self, name: str, make: Callable[[], DataFrame], leaves: tuple[DataFrame, ...], at_most: int) -> Plan:
        plan = self._plans.get(name)
        if plan is None or not plan.reads(leaves):
            plan = self._plans[name] = Plan(make(), leaves, at_most)
        return plan

    def _slot(self, name: str, schema: StructType) -> Slot:
        slot, wanted = self._slots.get(name), nullable(schema)
        if slot is None or slot.schema != wanted:
            slot = self._slots[name] = Slot(self.session, wanted)
        return slot
