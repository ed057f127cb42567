"""Spark's types of a project's columns, as far as Spark has been asked about exactly these files."""

from __future__ import annotations

import hashlib
import json
from importlib.metadata import version
from pathlib import Path
from typing import Any

from headrace.planning.declared import Schemas
from headrace.project.model import Project

_SHORT = {"byte": "tinyint", "short": "smallint", "integer": "int", "long": "bigint"}


def fingerprint(project: Project) -> str:
    """A hash of all that Spark's verdict hangs on: the models as declared, and the code that analyses them."""
    judged = (project.models, project.landings, project.macros, sorted(project.vars.items()), version("pyspark"))
    found = hashlib.sha256(repr(judged).encode())
    for source in sorted(Path(__file__).parents[1].rglob("*.py")):
        found.update(source.read_bytes())
    return found.hexdigest()


def types(file: Path, project: Project) -> Schemas | None:
    """The types in a kept verdict; None if it is about other files."""
    told = json.loads(file.read_text("utf-8")) if file.exists() else {}
    if told.get("project") != fingerprint(project):
        return None
    return {
        table: {field["name"]: _type(field["type"]) for field in schema["fields"]}
        for table, schema in told["schemas"].items()
    }


def _type(told: Any) -> str:
    """A type of Spark's JSON in short."""
    if isinstance(told, str):
        return _SHORT.get(told, told)
    if told["type"] == "array":
        return f"array<{_type(told['elementType'])}>"
    if told["type"] == "map":
        return f"map<{_type(told['keyType'])},{_type(told['valueType'])}>"
    members = (f"{field['name']}:{_type(field['type'])}" for field in told["fields"])
    return f"struct<{','.join(members)}>"
