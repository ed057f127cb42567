"""The bridge to the JVM: what Python lets go of must not stay there, and what Python has must get there."""

from __future__ import annotations

import gc
import sys
import weakref
from datetime import datetime, timezone
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from headrace.spark import gateway
from headrace.spark.columns import lit

pytestmark = pytest.mark.spark


def test_frames_go_without_a_collection(spark: SparkSession) -> None:
    gc.collect()
    gc.disable()
    try:
        frame = spark.range(3).where("id > 1")
        plan = weakref.ref(frame._jdf.queryExecution().logical())
        java = weakref.ref(frame._jdf)
        assert frame.count() == 1
        del frame
        assert plan() is None and java() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("value", [None, True, 7, 2**40, "ü", datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=timezone.utc)])
def test_values_are_those_of_spark_itself(spark: SparkSession, value: Any) -> None:
    rows = spark.range(1).select(lit(value).alias("ours"), F.lit(value).alias("theirs"))
    assert rows.schema["ours"].dataType == rows.schema["theirs"].dataType
    (row,) = rows.collect()
    assert row["ours"] == row["theirs"]


def test_values_of_numpy_are_known_once_there_is_numpy(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    numpy = pytest.importorskip("numpy", reason="numpy comes with pandas, which is there beside tests")
    assert [row["x"] for row in spark.range(1).select(F.lit(numpy.int64(3)).alias("x")).collect()] == [3]
    asked: list[Any] = []
    for kind in gateway._can_convert:
        monkeypatch.setitem(gateway._can_convert, kind, lambda _, value: asked.append(value))
    monkeypatch.delitem(sys.modules, "numpy")
    assert spark.range(2).where(F.col("id") == lit(1)).count() == 1
    assert asked == []
