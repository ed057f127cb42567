"""Spark's schemas of projects, cached per user: the types of all columns, under a hash of all that they depend on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import cache
from importlib.metadata import version
from typing import Any

from headrace import usercache
from headrace.planning.declared import Schemas
from headrace.project.model import Project

_KIND = "verdicts"
_SHORT = {"byte": "tinyint", "short": "smallint", "integer": "int", "long": "bigint"}


def schemas(project: Project) -> Mapping[str, Any] | None:
    """Spark's schema of every model, as its JSON; None if it was never asked about exactly these files."""
    try:
        return dict(json.loads(usercache.read(_KIND, _name(project))))
    except (OSError, ValueError):  # an unreadable entry is computed again
        return None


def types(project: Project) -> Schemas | None:
    """The types of all columns in short; None if Spark was never asked about exactly these files."""
    found = schemas(project)
    if found is None:
        return None
    return {
        table: {field["name"]: _type(field["type"]) for field in schema["fields"]} for table, schema in found.items()
    }


def store(project: Project, found: Mapping[str, Any]) -> None:
    """Cache the schemas of a project that Spark has accepted."""
    usercache.write(_KIND, _name(project), json.dumps(found))


def _name(project: Project) -> str:
    return f"{fingerprint(project)}.json"


def fingerprint(project: Project) -> str:
    """A hash of all that Spark's verdict depends on: models as declared, SQL settings, and the code that judges."""
    settings = sorted((key, value) for key, value in project.target.spark_conf.items() if key.startswith("spark.sql."))
    judged = (project.models, project.landings, project.macros, sorted(project.vars.items()), settings, _code())
    return hashlib.sha256(repr(judged).encode()).hexdigest()


@cache
def _code() -> str:
    """This package, and those that share in the verdict."""
    return f"{version('pyspark')} {version('delta-spark')} {usercache.code_hash()}"


def _type(described: Any) -> str:
    """A type of Spark's JSON in short."""
    if isinstance(described, str):
        return _SHORT.get(described, described)
    if described["type"] == "array":
        return f"array<{_type(described['elementType'])}>"
    if described["type"] == "map":
        return f"map<{_type(described['keyType'])},{_type(described['valueType'])}>"
    members = (f"{field['name']}:{_type(field['type'])}" for field in described["fields"])
    return f"struct<{','.join(members)}>"
