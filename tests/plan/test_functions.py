"""The functions that a plan must know, against those that Spark has."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession

from headrace.planning.forms.functions import AGGREGATES, GENERATORS

pytestmark = pytest.mark.spark


@pytest.mark.parametrize(("group", "known"), [("agg_funcs", AGGREGATES), ("generator_funcs", GENERATORS)])
def test_no_function_that_makes_other_rows_is_missing(spark: SparkSession, group: str, known: frozenset[str]) -> None:
    state: Any = spark._jsparkSession.sessionState()  # type: ignore[attr-defined]
    names = [row[0] for row in spark.sql("show system functions").collect() if row[0].isidentifier()]
    infos = {name: state.catalog().lookupFunctionInfo(_identifier(spark, name)) for name in names}
    assert {name for name, info in infos.items() if info.getGroup() == group} <= known


def _identifier(spark: SparkSession, name: str) -> Any:
    jvm: Any = spark._jvm  # type: ignore[attr-defined]
    return jvm.org.apache.spark.sql.catalyst.FunctionIdentifier(name)
