"""Rows fetched partition by partition come in order and leave nothing in Spark's scheduler."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headrace.publishing.messages import one_by_one
from tests.waiting import wait_for

pytestmark = pytest.mark.spark


@pytest.fixture
def new_jobs(spark: SparkSession) -> Callable[[], set[str]]:
    """Ids of the executions and jobs that Spark's scheduler knows, without those that others left there before."""
    context: Any = spark.sparkContext
    scheduler = context._jsc.sc().dagScheduler()

    def known() -> set[str]:
        executions, jobs = scheduler.activeQueryToJobs(), scheduler.jobIdToQueryExecutionId()
        return {str(number) for numbers in (executions, jobs) for number in numbers}

    before = known()
    return lambda: known() - before


def test_rows_come_in_order(spark: SparkSession) -> None:
    rows = spark.range(1000).repartition(3).orderBy("id", ascending=False)
    assert [row.id for row in one_by_one(rows)] == [*range(999, -1, -1)]


@pytest.mark.parametrize("taken", [1, 1000])
def test_scheduler_forgets_the_jobs(taken: int, spark: SparkSession, new_jobs: Callable[[], set[str]]) -> None:
    rows = one_by_one(spark.range(1000).repartition(3).orderBy("id"))
    assert [next(rows).id for _ in range(taken)] == [*range(taken)]
    del rows
    wait_for(lambda: not new_jobs(), "a scheduler without the jobs of these rows", details=lambda: str(new_jobs()))
