"""Parquet files of rows that the driver holds, written on the calling thread: for a few rows a job costs five times."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from headrace.engine.jvm import java_class, method, scala_object, scala_sequence_of

_ROW = "org.apache.spark.sql.catalyst.InternalRow"
_WRITER = "org.apache.spark.sql.execution.datasources.OutputWriter"


class ParquetFiles:
    """Writes files of one schema with Spark's own writer and the confs that the session had at first."""

    def __init__(self, session: SparkSession, schema: StructType) -> None:
        jvm: Any = session._jvm
        spark = session._jsparkSession
        job = jvm.org.apache.hadoop.mapreduce.Job.getInstance(spark.sessionState().newHadoopConf())
        none = scala_object(jvm.scala.collection.immutable, "Map").empty()
        columns = jvm.org.apache.spark.sql.types.DataType.fromJson(schema.json())
        form = jvm.org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat()
        self._jvm = jvm
        self._schema = columns
        self._confs = job.getConfiguration()
        self._factory = form.prepareWrite(spark, job, none, columns)
        self._write = method(session, _WRITER, "write", java_class(session, _ROW))
        self._loop = java_class(session, "java.util.function.Consumer")

    def write(self, rows: Any, file: Path) -> None:
        """Write a Java array of rows; the folder is made if there is none."""
        tasks = self._jvm.org.apache.hadoop.mapreduce
        context = tasks.task.TaskAttemptContextImpl(self._confs, tasks.TaskAttemptID())
        writer = self._factory.newInstance(str(file), self._schema, context)
        try:
            each = self._jvm.scala.jdk.javaapi.CollectionConverters.asJava(
                scala_sequence_of(self._jvm, rows).iterator()
            )
            each.forEachRemaining(self._taking(writer))
        finally:
            writer.close()

    def _taking(self, writer: Any) -> Any:
        """The writer, as Java's loops call it."""
        invoke = self._jvm.java.lang.invoke
        handle = invoke.MethodHandles.lookup().unreflect(self._write).bindTo(writer)
        return invoke.MethodHandleProxies.asInterfaceInstance(self._loop, handle)
