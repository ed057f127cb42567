"""What Spark has said of projects, kept once per user: types of all columns, under a hash of all that they hang on."""

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
    except (OSError, ValueError):  # what cannot be read is asked again
        return None


def types(project: Project) -> Schemas | None:
    """The types of all columns in short; None if Spark was never asked about exactly these files."""
    told = schemas(project)
    if told is None:
        return None
    return {
        table: {field["name"]: _type(field["type"]) for field in schema["fields"]} for table, schema in told.items()
    }


def keep(project: Project, found: Mapping[str, Any]) -> None:
    """Keep the schemas of a project that Spark has found good."""
    usercache.keep(_KIND, _name(project), json.dumps(found))


def _name(project: Project) -> str:
    return f"{fingerprint(project)}.json"


def fingerprint(project: Project) -> str:
    """A hash of all that Spark's verdict hangs on: models as declared, SQL settings, and the code that judges."""
    settings = sorted((key, value) for key, value in project.target.spark_conf.items() if key.startswith("spark.sql."))
    judged = (project.models, project.landings, project.macros, sorted(project.vars.items()), settings, _code())
    return hashlib.sha256(repr(judged).encode()).hexdigest()


@cache
def _code() -> str:
    """This package, and those that judge beside it."""
    return f"{version('pyspark')} {version('delta-spark')} {usercache.code()}"


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
