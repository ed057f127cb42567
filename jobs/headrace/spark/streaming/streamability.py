"""Whether Spark's streaming engine can run a plan, asked of its own checker; nothing is started."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from headrace.spark.columns import no_rows
from headrace.spark.jvm import frame_of, java_class, scala_object


def refuse_unstreamable(session: SparkSession, frame: DataFrame, update: bool) -> None:
    """AnalysisException where the streaming engine cannot run a frame over streams, in update or append mode."""
    jvm: Any = session._jvm
    modes = java_class(jvm, "org.apache.spark.sql.streaming.OutputMode")
    checker = java_class(jvm, "org.apache.spark.sql.catalyst.analysis.UnsupportedOperationChecker")
    checker.checkForStreaming(frame._jdf.queryExecution().analyzed(), modes.Update() if update else modes.Append())


def as_stream(session: SparkSession, schema: StructType) -> DataFrame:
    """A stream with some columns, which is never started."""
    columns = no_rows(session, schema)._jdf.queryExecution().analyzed().output()
    jvm: Any = session._jvm
    nothing, none = scala_object(jvm, "scala.collection.immutable.Nil"), java_class(jvm, "scala.Option").empty()
    moving = java_class(jvm, "org.apache.spark.sql.catalyst.plans.logical.LocalRelation")(columns, nothing, True, none)
    return frame_of(session, moving)
