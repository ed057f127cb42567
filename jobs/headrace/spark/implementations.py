"""Which implementation of `SmallBatches` is used: what the target asks for, and for `auto` what works here.

`auto` tries `driver` when the first batches of an application are made, so what only analyses SQL does not wait for it.
"""

from __future__ import annotations

import sys
from functools import lru_cache

from pyspark import SparkContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from headrace.spark import mode
from headrace.spark.driver.batches import DriverBatches
from headrace.spark.jobs.batches import JobBatches
from headrace.spark.materialized import Materialized
from headrace.spark.small_batches import SmallBatches

_NUMBERS = StructType().add("n", "long")


def small_batches(session: SparkSession) -> SmallBatches:
    """The batches of one query in a session of its own."""
    wanted = mode.wanted(session)
    is_jobs = _trouble(session.sparkContext) is not None if wanted == "auto" else wanted == "jobs"
    return JobBatches(session) if is_jobs else DriverBatches(session)


def materialize(frame: DataFrame) -> Materialized:
    """Compute a frame now, outside of a batch."""
    return small_batches(frame.sparkSession).materialize(frame)


@lru_cache(maxsize=1)
def _trouble(context: SparkContext) -> str | None:
    """Why `driver` is not used in this application, reported once."""
    trouble = mode.untested() or self_test(SparkSession(context).newSession())
    if trouble:
        print(f"headrace: small batches run as Spark jobs, which is slower: {trouble}", file=sys.stderr)
    return trouble


def self_test(session: SparkSession) -> str | None:
    """Why `driver` does not work on this build of Spark; None if it does."""
    batches = DriverBatches(session)
    try:
        found = [_doubled(batches, number) for number in (1, 2)]
    except Exception as error:  # whatever another build of Spark does
        return f"{type(error).__name__}: {str(error).splitlines()[0][:200]}" if str(error) else type(error).__name__
    finally:
        batches.drop()
    return None if found == [[2], [4]] else f"a plan that was run again gave {found}"


def _doubled(batches: SmallBatches, number: int) -> list[int]:
    batches.begin(number, 1)
    rows = batches.fill("numbers", [(number,)], _NUMBERS).frame
    doubled = batches.compute("doubled", lambda: rows.selectExpr("2 * n as n"), rows)
    return [row.n for row in doubled.frame.collect()]
