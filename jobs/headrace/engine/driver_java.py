"""Java of ours in the driver, compiled by what Spark compiles with: one call for what would be dozens from Python."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

from pyspark import SparkContext
from pyspark.sql import SparkSession

_SOURCES = Path(__file__).parent


def driver_task(session: SparkSession) -> Any:
    """Work on few rows; the methods are those of `DriverTask.java`."""
    return _compiled(session.sparkContext, "DriverTask")


def plan_nodes(session: SparkSession) -> Any:
    """What is asked of Spark's plans; the methods are those of `PlanNodes.java`."""
    return _compiled(session.sparkContext, "PlanNodes")


def interpreted_calls(session: SparkSession) -> Any:
    """A rule for a session's optimizer (`InterpretedCalls.java`)."""
    return _compiled(session.sparkContext, "InterpretedCalls")


@lru_cache(maxsize=3)
def _compiled(context: SparkContext, name: str) -> Any:
    jvm: Any = context._jvm
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(jvm.java.lang.Thread.currentThread().getContextClassLoader())
    compiler.cook((_SOURCES / f"{name}.java").read_text("utf-8"))
    (constructor,) = compiler.getClassLoader().loadClass(name).getDeclaredConstructors()
    gateway: Any = context._gateway
    return constructor.newInstance(gateway.new_array(jvm.java.lang.Object, 0))
