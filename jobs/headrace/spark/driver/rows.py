"""A few rows in the driver's JVM as an array of Spark's own rows: built from Python values, and read as a frame."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import IntegerType, LongType, StructField, StructType, TimestampType

from headrace.spark.columns import no_rows
from headrace.spark.driver.java import driver_task
from headrace.spark.jvm import confs_of, frame_of, java_array, java_class, objects
from headrace.spark.materialized import Materialized

_ROW = "org.apache.spark.sql.catalyst.InternalRow"


@dataclass(frozen=True)
class Rows:
    """A few rows."""

    session: SparkSession
    array: Any

    @classmethod
    def of_values(cls, session: SparkSession, values: Iterable[Sequence[Any]], schema: StructType) -> Rows:
        """Rows from Python values; a time may be an integer in microseconds since 1970."""
        found = list(values)
        if len(found) == 1 and all(map(_is_number_as_it_is, schema.fields, found[0])):
            return cls._of_numbers(session, found[0])
        return cls(session, _internal_rows(session, found, schema))

    @classmethod
    def _of_numbers(cls, session: SparkSession, numbers: Sequence[int]) -> Rows:
        """One row of numbers, without the detour that other values take."""
        jvm = _jvm(session)
        make_row = java_class(jvm, "org.apache.spark.sql.catalyst.expressions.GenericInternalRow")
        return cls(session, java_array(session, java_class(jvm, _ROW), [make_row(objects(session, *numbers))]))

    @classmethod
    def none(cls, session: SparkSession) -> Rows:
        """No rows."""
        return cls(session, java_array(session, java_class(_jvm(session), _ROW), []))

    @classmethod
    def of(cls, session: SparkSession, found: Materialized) -> Rows:
        """The rows of a small frame that is held in memory."""
        if isinstance(found.held, Rows):
            return found.held
        return collected(found.frame) if found.count else cls.none(session)

    @classmethod
    def joined(cls, session: SparkSession, parts: Sequence[Rows]) -> Rows:
        """All rows of several, in order."""
        if not parts:
            return cls.none(session)
        return cls(session, reduce(driver_task(session).joined, [part.array for part in parts]))

    @property
    def nbytes(self) -> int:
        """How much memory they take."""
        return int(driver_task(self.session).bytes(self.array))

    def __len__(self) -> int:
        return len(self.array)


def local_frame(session: SparkSession, rows: Any, schema: StructType) -> DataFrame:
    """A Java array of Spark's rows as a frame that is part of its plan."""
    jvm = _jvm(session)
    columns = no_rows(session, schema)._jdf.queryExecution().analyzed().output()
    values = java_class(jvm, "scala.collection.immutable.ArraySeq").unsafeWrapArray(rows)
    none = java_class(jvm, "scala.Option").empty()
    make_relation = java_class(jvm, "org.apache.spark.sql.catalyst.plans.logical.LocalRelation")
    return frame_of(session, make_relation(columns, values, False, none))


def collected(frame: DataFrame) -> Rows:
    """The rows of a frame, computed by a job."""
    return Rows(frame.sparkSession, frame._jdf.queryExecution().executedPlan().executeCollect())


def _internal_rows(session: SparkSession, values: Sequence[Sequence[Any]], schema: StructType) -> Any:
    """What `createDataFrame` makes by way of an RDD and a file."""
    jvm = _jvm(session)
    internal = [tuple(map(_internal, schema.fields, value)) for value in values]
    kind = java_class(jvm, "org.apache.spark.sql.types.DataType").fromJson(schema.json())
    convert = java_class(jvm, "org.apache.spark.sql.execution.python.EvaluatePython").makeFromJava(
        java_class(jvm, "org.apache.spark.sql.types.ArrayType")(kind, False)
    )
    unpickled = java_class(jvm, "net.razorvine.pickle.Unpickler")().loads(pickle.dumps(internal, protocol=4))
    return driver_task(session).packed(convert.apply(unpickled).array(), kind, confs_of(session))


def _is_number_as_it_is(field: StructField, value: Any) -> bool:
    """Whether Py4J makes of a number what Spark has inside: up to 32 bits an Integer, else a Long."""
    if not isinstance(value, int) or isinstance(value, bool):
        return False
    is_short = -(2**31) <= value < 2**31
    return isinstance(field.dataType, IntegerType) if is_short else isinstance(field.dataType, LongType | TimestampType)


def _internal(field: StructField, value: Any) -> Any:
    is_time = isinstance(value, int) and isinstance(field.dataType, TimestampType)
    return value if is_time else field.dataType.toInternal(value)


def _jvm(session: SparkSession) -> Any:
    return session._jvm
