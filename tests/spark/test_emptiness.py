"""What is known of queries over no rows, checked against Spark."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headrace.project.sql import emptiness
from tests.unit.test_emptiness import test_query_gives_nothing

pytestmark = pytest.mark.spark

CASES = [case for case in test_query_gives_nothing.pytestmark[0].args[1] if case[2]]


@pytest.fixture
def session(spark: SparkSession) -> Iterator[SparkSession]:
    found = spark.newSession()
    found.conf.set("spark.sql.ansi.enabled", "true")
    yield found


@pytest.mark.parametrize(("query", "empty", "expected"), CASES, ids=[case[0] for case in CASES])
def test_spark_finds_no_rows(session: SparkSession, query: str, empty: str, expected: bool) -> None:
    for table in ("a", "b"):
        rows = session.sql("select 1 as k, 1 as a, array(1, 2) as ks")
        rows.where(f"{f'silver.{table}' not in empty}").createOrReplaceTempView(table)
    assert session.sql(query.replace("stream silver.", "").replace("silver.", "")).count() == 0


def test_every_aggregate_of_spark_is_known(spark: SparkSession) -> None:
    jvm: Any = spark._jvm
    functions = jvm.org.apache.spark.sql.catalyst.analysis.FunctionRegistry.builtin()
    package = "org.apache.spark.sql.catalyst.expressions"
    kinds = [f"{package}.aggregate.AggregateFunction", f"{package}.RuntimeReplaceableAggregate"]
    aggregates, names = [jvm.java.lang.Class.forName(kind) for kind in kinds], set[str]()
    over_windows = jvm.java.lang.Class.forName(f"{package}.WindowFunction")  # these stand nowhere else
    found = functions.listFunction().iterator()
    while found.hasNext():
        name = found.next()
        of = jvm.java.lang.Class.forName(functions.lookupFunction(name).get().getClassName())
        if any(kind.isAssignableFrom(of) for kind in aggregates) and not over_windows.isAssignableFrom(of):
            names.add(str(name.funcName()))
    assert len(names) > 60
    assert {name for name in names if not emptiness.is_aggregate(name)} == set()
