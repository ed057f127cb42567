"""Spark's verdict on a project, kept beside its data until a file of the project or of headrace changes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from headrace.engine import analysis
from headrace.planning.known import fingerprint
from headrace.project.model import Project


def schemas(spark: SparkSession, project: Project, file: Path) -> Mapping[str, StructType]:
    """The schema of every model, as `analysis.check` gives it; a project that was found good is not asked twice."""
    key = fingerprint(project)
    known = json.loads(file.read_text("utf-8")) if file.exists() else {}
    if known.get("project") == key:
        return {table: StructType.fromJson(schema) for table, schema in known["schemas"].items()}
    found = analysis.check(spark, project)
    draft = file.with_suffix(".tmp")
    told = {"project": key, "schemas": {table: schema.jsonValue() for table, schema in found.items()}}
    draft.write_text(json.dumps(told), "utf-8")
    draft.replace(file)
    return found
