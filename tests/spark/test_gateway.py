"""What Python lets go of must not stay in the JVM."""

from __future__ import annotations

import gc
import weakref

import pytest
from pyspark.sql import SparkSession

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
