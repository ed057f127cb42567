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
from headrace.project.model import Project

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
    whole, names = schemas(project) or {}, _names_of_models(project)
    found = {table: whole.get(table) or _of_model(name) for table, name in names.items()}
    known = {table: schema["fields"] for table, schema in found.items() if schema is not None}
    return {table: {each["name"]: _type(each["type"]) for each in fields} for table, fields in known.items()} or None


def store(project: Project, found: Mapping[str, Any]) -> None:
    """Cache the schemas of a project that Spark has accepted, as a whole and each by itself."""
    usercache.write(_KIND, _name(project), json.dumps(found))
    for table, name in _names_of_models(project).items():
        if table in found:
            usercache.write(_KIND_OF_MODEL, name, json.dumps(found[table]))


def _of_model(name: str) -> Any:
    try:
        return json.loads(usercache.read(_KIND_OF_MODEL, name))
    except (OSError, ValueError):
        return None


def _names_of_models(project: Project) -> Mapping[str, str]:
    """By table, a hash of all that the types of a model depend on: what it is made of, however far away."""
    models, shared = {model.table: model for model in project.models}, repr(_shared(project))
    texts = {**{table: repr(model) for table, model in models.items()}, **_texts_of_topics(project)}
    found = dict[str, str]()
    for table in models:
        made_of = [table]
        for each in made_of:
            inputs = models[each].inputs if each in models else ()
            made_of += {ref.table for ref in inputs} - {*made_of}
        judged = (table, sorted((each, texts.get(each)) for each in made_of), shared)
        found[table] = f"{hashlib.sha256(repr(judged).encode()).hexdigest()}.json"
    return found


def _texts_of_topics(project: Project) -> Mapping[str, str]:
    """By table, the sources without what no type depends on."""
    topics = (topic for landing in project.landings for topic in landing.topics)
    return {
        f"bronze.{topic.name}": repr(replace(topic, place=Place(""), places={}, description="", seeds=()))
        for topic in topics
    }


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
