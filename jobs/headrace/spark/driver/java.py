"""headrace's own Java classes: one call in the driver for what would be dozens from Python.

It is compiled by what Spark compiles with, once per user: to do so at each start costs 0.4 CPU-s.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import pyspark
from pyspark import SparkContext
from pyspark.sql import SparkSession

from headrace import usercache
from headrace.spark.jvm import array_of, java_class

_SOURCES = Path(__file__).parent
_KIND = "java"


def driver_task(session: SparkSession) -> Any:
    """Work on few rows; the methods are those of `DriverTask.java`."""
    return _only(session.sparkContext, "DriverTask")


def plan_nodes(session: SparkSession) -> Any:
    """What is asked of Spark's plans; the methods are those of `PlanNodes.java`."""
    return _only(session.sparkContext, "PlanNodes")


@lru_cache(maxsize=2)
def _only(context: SparkContext, name: str) -> Any:
    """The one object of the class of this name: it is loaded once, as Py4J identifies classes by their names alone."""
    jvm: Any = context._jvm
    parent = java_class(jvm, "java.lang.Thread").currentThread().getContextClassLoader()
    classes = java_class(jvm, "java.util.HashMap")()
    for each, code in _classes(jvm, parent, _source(name)).items():
        classes.put(each, code)
    loader = java_class(jvm, "org.codehaus.commons.compiler.util.reflect.ByteArrayClassLoader")(classes, parent)
    (constructor,) = loader.loadClass(name).getDeclaredConstructors()
    return constructor.newInstance(array_of(context, java_class(jvm, "java.lang.Object"), ()))


def _source(name: str) -> str:
    return (_SOURCES / f"{name}.java").read_text("utf-8")


def _classes(jvm: Any, parent: Any, source: str) -> dict[str, bytes]:
    """The code of a source's classes by name, from the user's cache or else compiled now."""
    key = sha256(f"{pyspark.__version__} {source}".encode()).hexdigest()
    try:
        return {each: b64decode(code, validate=True) for each, code in json.loads(usercache.read(_KIND, key)).items()}
    except (OSError, ValueError):  # what cannot be read is compiled again
        found = _compiled(jvm, parent, source)
        usercache.write(_KIND, key, json.dumps({each: b64encode(code).decode() for each, code in found.items()}))
        return found


def _compiled(jvm: Any, parent: Any, source: str) -> dict[str, bytes]:
    compiler = java_class(jvm, "org.codehaus.janino.SimpleCompiler")()
    compiler.setParentClassLoader(parent)
    compiler.cook(source)
    return {str(name): bytes(code) for name, code in compiler.getBytecodes().items()}
