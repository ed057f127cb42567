"""Rows that the driver holds: made of Python's values, and read as frames, both without a job."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType, _create_converter

from headrace.spark.columns import no_rows
from headrace.spark.jvm import frame_of, java_array


def internal_rows(session: SparkSession, values: Iterable[Sequence[Any]], schema: StructType) -> Any:
    """Python's values as a Java array of Spark's own rows: what `createDataFrame` makes by way of an RDD and a file."""
    plain = _create_converter(schema)
    return java_rows(session, [schema.toInternal(plain(value)) for value in values], schema)


def java_rows(session: SparkSession, values: Sequence[Any], schema: StructType) -> Any:
    """The same of values as Spark has them inside."""
    jvm: Any = session._jvm
    pickled = pickle.dumps(values, protocol=4)
    kind = jvm.org.apache.spark.sql.types.DataType.fromJson(schema.json())
    convert = jvm.org.apache.spark.sql.execution.python.EvaluatePython.makeFromJava(
        jvm.org.apache.spark.sql.types.ArrayType(kind, False)
    )
    found = convert.apply(jvm.net.razorvine.pickle.Unpickler().loads(pickled)).array()
    rows = java_array(session, jvm.org.apache.spark.sql.catalyst.InternalRow, [])
    return jvm.java.util.Arrays.copyOf(found, len(found), rows.getClass())


def local_frame(session: SparkSession, rows: Any, schema: StructType) -> DataFrame:
    """A Java array of Spark's rows as a frame that is part of its plan."""
    jvm: Any = session._jvm
    columns = no_rows(session, schema)._jdf.queryExecution().analyzed().output()
    values = jvm.scala.collection.immutable.ArraySeq.unsafeWrapArray(rows)
    plan = jvm.org.apache.spark.sql.catalyst.plans.logical.LocalRelation(
        columns, values, False, jvm.scala.Option.empty()
    )
    return frame_of(session, plan)


def collected(frame: DataFrame) -> Any:
    """The rows of a frame as a Java array of Spark's own rows."""
    return frame._jdf.queryExecution().executedPlan().executeCollect()
