"""Work on few rows in the driver's JVM, one call for each: `DriverTask.java`, compiled by what Spark compiles with."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

from pyspark import SparkContext
from pyspark.sql import SparkSession

_SOURCE = Path(__file__).with_name("DriverTask.java")


def driver_task(session: SparkSession) -> Any:
    """The Java object: `rows`, `keep`, `write` and `joined`, as its source describes them.

    From Python, what one of them does would be thirty calls, each with an answer to be waited for.
    """
    return _compiled(session.sparkContext)


@lru_cache(maxsize=1)
def _compiled(context: SparkContext) -> Any:
    jvm: Any = context._jvm
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(jvm.java.lang.Thread.currentThread().getContextClassLoader())
    compiler.cook(_SOURCE.read_text("utf-8"))
    (constructor,) = compiler.getClassLoader().loadClass(_SOURCE.stem).getDeclaredConstructors()
    gateway: Any = context._gateway
    return constructor.newInstance(gateway.new_array(jvm.java.lang.Object, 0))
