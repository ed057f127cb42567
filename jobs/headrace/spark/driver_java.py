"""Java of ours: one call in the driver for what would be dozens from Python, and how tasks keep rows.

It is compiled by what Spark compiles with, once per user: to do so at each start costs 0.4 CPU-s.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Any, cast
from zipfile import ZipFile

import pyspark
from py4j.protocol import Py4JJavaError
from pyspark import SparkContext
from pyspark.sql import SparkSession

from headrace import usercache
from headrace.spark.jvm import array_of

_SOURCES = Path(__file__).parent
_KIND = "java"
_GENERATED = "generated"
_GENERATED_KEPT = 3_000
"""Classes of so many steps of plans, of about 8 kB: the large batches of five systems have some hundred."""

_DEFINING = Lock()


def driver_task(session: SparkSession) -> Any:
    """Work on few rows; the methods are those of `DriverTask.java`."""
    return _only(session.sparkContext, "DriverTask")


def plan_nodes(session: SparkSession) -> Any:
    """What is asked of Spark's plans; the methods are those of `PlanNodes.java`."""
    return _only(session.sparkContext, "PlanNodes")


def interpreted_calls(session: SparkSession) -> Any:
    """A rule for a session's optimizer (`InterpretedCalls.java`, `Called.java`)."""
    _shared(session.sparkContext, "org.apache.spark.sql.catalyst.expressions.objects.Invoke", "Called")
    return _only(session.sparkContext, "InterpretedCalls")


def packed_rows(session: SparkSession) -> Any:
    """Rows that are kept; the methods are those of `PackedRows.java`."""
    return _shared(session.sparkContext, "org.apache.spark.sql.execution.LogicalRDD", "PackedRows")


def session_loader(context: SparkContext, parent: Any) -> Any:
    """A class loader for the start of a session (`SessionLoader.java`)."""
    return _made(context, "SessionLoader", parent)


def kept_code(context: SparkContext) -> Any:
    """What keeps the code that Spark generates (`KeptCode.java`), once per user."""
    with suppress(OSError):
        usercache.forget_old(_GENERATED, _GENERATED_KEPT)
    return _made(context, "KeptCode", str(usercache.folder(_GENERATED)), pyspark.__version__)


@lru_cache(maxsize=3)
def _only(context: SparkContext, name: str) -> Any:
    """The one object of the class of this name."""
    return _made(context, name)


def _made(context: SparkContext, name: str, *arguments: Any) -> Any:
    """An object of the class of this name."""
    jvm: Any = context._jvm
    return _constructor(context, name).newInstance(array_of(context, jvm.java.lang.Object, arguments))


@lru_cache(maxsize=2)
def _shared(context: SparkContext, neighbour: str, name: str) -> Any:
    """A class that tasks know as well, as if it came with a class of Spark's."""
    jvm, spark = cast(Any, context._jvm), cast(Any, context._jsc)
    loader = jvm.org.apache.spark.util.Utils.getSparkClassLoader()
    full_name = f"{neighbour.rpartition('.')[0]}.{name}"
    classes = _classes(jvm, loader, _source(name))
    with _DEFINING:
        if not _is_known(jvm, loader, full_name):
            _define(jvm, loader, neighbour, classes.values())
    if not spark.isLocal():
        spark.addJar(_jar(Path(str(context._temp_dir)), name, classes))
    return getattr(jvm, full_name)


def _is_known(jvm: Any, loader: Any, name: str) -> bool:
    """Whether there is a class of this name: a former context of this JVM may have defined it."""
    try:
        jvm.java.lang.Class.forName(name, False, loader)
    except Py4JJavaError:
        return False
    return True


def _define(jvm: Any, loader: Any, neighbour: str, classes: Iterable[bytes]) -> None:
    """Add classes to the package of a class of Spark's."""
    lookup = jvm.java.lang.invoke.MethodHandles
    place = lookup.privateLookupIn(jvm.java.lang.Class.forName(neighbour, False, loader), lookup.lookup())
    for code in classes:
        place.defineClass(code)


def _jar(folder: Path, name: str, classes: Mapping[str, bytes]) -> str:
    """The path of a new archive of classes, for executors to fetch."""
    path = folder / f"{name}.jar"
    with ZipFile(path, "w") as archive:
        for each, code in classes.items():
            archive.writestr(f"{each.replace('.', '/')}.class", code)
    return str(path)


@lru_cache(maxsize=5)
def _constructor(context: SparkContext, name: str) -> Any:
    """Each class is loaded once: Py4J tells classes apart by their names alone."""
    jvm: Any = context._jvm
    parent = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    classes = jvm.java.util.HashMap()
    for each, code in _classes(jvm, parent, _source(name)).items():
        classes.put(each, code)
    loader = jvm.org.codehaus.commons.compiler.util.reflect.ByteArrayClassLoader(classes, parent)
    (constructor,) = loader.loadClass(name).getDeclaredConstructors()
    return constructor


def _source(name: str) -> str:
    return (_SOURCES / f"{name}.java").read_text("utf-8")


def _classes(jvm: Any, parent: Any, source: str) -> dict[str, bytes]:
    """The code of a source's classes by name, as it was kept or else compiled now."""
    kept = sha256(f"{pyspark.__version__} {source}".encode()).hexdigest()
    try:
        return {each: b64decode(code, validate=True) for each, code in json.loads(usercache.read(_KIND, kept)).items()}
    except (OSError, ValueError):  # what cannot be read is compiled again
        found = _compiled(jvm, parent, source)
        usercache.keep(_KIND, kept, json.dumps({each: b64encode(code).decode() for each, code in found.items()}))
        return found


def _compiled(jvm: Any, parent: Any, source: str) -> dict[str, bytes]:
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(parent)
    compiler.cook(source)
    return {str(name): bytes(code) for name, code in compiler.getBytecodes().items()}
