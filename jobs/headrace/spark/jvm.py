"""Java and Scala objects that Py4J cannot create directly: arrays, sequences, singletons."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from pyspark import SparkContext
from pyspark.sql import DataFrame, SparkSession


def java_array(session: SparkSession, kind: Any, values: Sequence[Any]) -> Any:
    """An array of a class."""
    return array_of(session.sparkContext, kind, values)


def array_of(context: SparkContext, kind: Any, values: Sequence[Any]) -> Any:
    """An array of a class, where there is no session yet."""
    gateway: Any = context._gateway
    found = gateway.new_array(kind, len(values))
    for number, value in enumerate(values):
        found[number] = value
    return found


def objects(session: SparkSession, *values: Any) -> Any:
    """An array of anything."""
    jvm: Any = session._jvm
    return java_array(session, java_class(jvm, "java.lang.Object"), values)


def scala_sequence(session: SparkSession, kind: Any, values: Sequence[Any]) -> Any:
    """A sequence of a class."""
    jvm: Any = session._jvm
    return java_class(jvm, "scala.collection.immutable.ArraySeq").unsafeWrapArray(java_array(session, kind, values))


def each(sequence: Any) -> Iterator[Any]:
    """The elements of a Scala sequence."""
    return (sequence.apply(index) for index in range(sequence.size()))


def kind_of(thing: Any) -> str:
    """The name of an object's class, without its package."""
    return str(thing.getClass().getSimpleName())


@cache
def java_class(jvm: Any, name: str) -> Any:
    """A class by its whole name, looked up once.

    Where a name is written with dots, Py4J asks the JVM about each part of it each time (is there a class `org`?), and
    Java looks through all jars for a class that is not there: that was a fifth of what a small batch cost.
    """
    return getattr(jvm, name)


def scala_object(jvm: Any, name: str) -> Any:
    """A Scala object by its whole name."""
    return getattr(java_class(jvm, f"{name}$"), "MODULE$")


def frame_of(session: SparkSession, plan: Any) -> DataFrame:
    """The rows of a logical plan as a frame of a session."""
    jvm: Any = session._jvm
    spark: Any = session._jsparkSession
    return DataFrame(java_class(jvm, "org.apache.spark.sql.classic.Dataset").ofRows(spark, plan), session)


def confs_of(session: SparkSession) -> Any:
    """A session's confs, as tasks want them."""
    return session._jsparkSession.sessionState().conf()
