"""Spark's schemas of projects and of models, cached per user: types of columns, under a hash of what they depend on.

The schemas of a whole project stand for Spark's verdict on it. Those of a model outlive edits of models that it is not
made of, so that a plan has to ask for less.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from importlib.metadata import version
from typing import Any

from headrace import usercache
from headrace.errors import Place
from headrace.planning.declared import Schemas
from headrace.project.model import Model, Project

_KIND = "verdicts"
_KIND_OF_MODEL = "types"
_SHORT = {"byte": "tinyint", "short": "smallint", "integer": "int", "long": "bigint"}


def schemas(project: Project) -> Mapping[str, Any] | None:
    """Spark's schema of every model, as its JSON; None if it was never asked about exactly these files."""
    try:
        return dict(json.loads(usercache.read(_KIND, _name(project))))
    except (OSError, ValueError):  # an unreadable entry is computed again
        return None


def types(project: Project) -> Schemas | None:
    """The types of all columns in short, of each model that Spark was asked about as it is; None if of no model."""
    whole = schemas(project) or {}
    found = {model.table: whole.get(model.table) or _of_model(project, model) for model in project.models}
    known = {table: schema["fields"] for table, schema in found.items() if schema is not None}
    return {table: {each["name"]: _type(each["type"]) for each in fields} for table, fields in known.items()} or None


def store(project: Project, found: Mapping[str, Any]) -> None:
    """Cache the schemas of a project that Spark has accepted, as a whole and each by itself."""
    usercache.write(_KIND, _name(project), json.dumps(found))
    for model in project.models:
        if model.table in found:
            usercache.write(_KIND_OF_MODEL, _name_of_model(project, model), json.dumps(found[model.table]))


def _of_model(project: Project, model: Model) -> Any:
    try:
        return json.loads(usercache.read(_KIND_OF_MODEL, _name_of_model(project, model)))
    except (OSError, ValueError):
        return None


def _name_of_model(project: Project, model: Model) -> str:
    """A hash of all that the types of one model depend on: what it is made of, however far away."""
    made_of, models = {model.table: model}, {each.table: each for each in project.models}
    for each in (waiting := [model]):
        fresh = [models[ref.table] for ref in each.inputs if ref.table in models and ref.table not in made_of]
        made_of |= {one.table: one for one in fresh}
        waiting += fresh
    read = {ref.table for each in waiting for ref in each.inputs}
    topics = [
        replace(topic, place=Place(""), places={}, description="", seeds=())
        for landing in project.landings
        for topic in landing.topics
        if f"bronze.{topic.name}" in read
    ]
    judged = (model.table, sorted(made_of.items()), topics, *_shared(project))
    return f"{hashlib.sha256(repr(judged).encode()).hexdigest()}.json"


def _name(project: Project) -> str:
    return f"{fingerprint(project)}.json"


def fingerprint(project: Project) -> str:
    """A hash of all that Spark's verdict depends on: models as declared, SQL settings, and the code that judges."""
    judged = (project.models, project.landings, *_shared(project))
    return hashlib.sha256(repr(judged).encode()).hexdigest()


def _shared(project: Project) -> tuple[object, ...]:
    """What the verdict on any model depends on."""
    settings = sorted((key, value) for key, value in project.target.spark_conf.items() if key.startswith("spark.sql."))
    return project.macros, sorted(project.vars.items()), settings, _code()


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
