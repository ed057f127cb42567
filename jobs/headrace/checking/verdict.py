"""Spark's verdict on a project, cached: the same files are analysed once, by whichever command comes first."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from headrace.checking import analysis
from headrace.checking.analysis import Analysis
from headrace.errors import InvalidProject
from headrace.planning import known
from headrace.planning.declared import Schemas
from headrace.project.model import Project


def schemas(spark: SparkSession, project: Project) -> Mapping[str, StructType]:
    """The schema of every model; InvalidProject with all findings if there are any."""
    found = known.schemas(project)
    if found is not None:
        return {table: StructType.fromJson(schema) for table, schema in found.items()}
    judged = judge(spark, project)
    if judged.findings:
        raise InvalidProject(judged.findings)
    return judged.schemas


def types(schemas: Mapping[str, StructType]) -> Schemas:
    """The types of all columns in short, by table."""
    return {table: {each.name: each.dataType.simpleString() for each in schema} for table, schema in schemas.items()}


def judge(spark: SparkSession, project: Project) -> Analysis:
    """Analyse with Spark, and cache the schemas if there are no findings."""
    found = analysis.analyse(spark, project)
    if not found.findings:
        known.store(project, {table: schema.jsonValue() for table, schema in found.schemas.items()})
    return found
