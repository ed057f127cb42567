"""Parquet files of rows that the driver holds, written on the calling thread: few rows cost a fifth of a job."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from headrace.spark.driver.java import driver_task
from headrace.spark.jvm import java_class, scala_object
from headrace.store.paths import StorePath, spark_uri


class ParquetWriter:
    """Writes files of one schema with Spark's own writer and the confs that the session had at first."""

    def __init__(self, session: SparkSession, schema: StructType) -> None:
        jvm: Any = session._jvm
        spark = session._jsparkSession
        job = java_class(jvm, "org.apache.hadoop.mapreduce.Job").getInstance(spark.sessionState().newHadoopConf())
        none = scala_object(jvm, "scala.collection.immutable.Map").empty()
        form = java_class(jvm, "org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat")()
        self._task = driver_task(session)
        self._schema = java_class(jvm, "org.apache.spark.sql.types.DataType").fromJson(schema.json())
        self._factory = form.prepareWrite(spark, job, none, self._schema)
        self._confs = job.getConfiguration()

    def write(self, rows: Any, file: StorePath) -> None:
        """Write a Java array of rows; the folder is made if there is none."""
        self._task.write(self._factory, spark_uri(file), self._schema, self._confs, rows)
