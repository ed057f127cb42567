"""JSON schemas of the YAML that people write, so that editors complete keys and find mistakes while typing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from headrace.errors import ExitCode
from headrace.project.declarations import landings, manifest
from headrace.project.declarations.documents import Shape
from headrace.project.declarations.header import HeaderKeys
from headrace.project.declarations.settings import FolderSettings
from headrace.project.declarations.targets import shape
from headrace.testing.cases import case

DIALECT = "https://json-schema.org/draft/2020-12/schema"
Schema = dict[str, Any]


def write(folder: Path) -> int:
    """Write all schemas into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts().items():
        (folder / name).write_text(text, "utf-8")
        print(folder / name)
    return ExitCode.OK


def texts() -> dict[str, str]:
    """The text of each schema, by the name of its file."""
    schemas = {
        "manifest.json": _manifest(),
        "target.json": _schema(shape.FileShape, "conf/<target>.yml"),
        "bronze.json": _bronze(),
        "header.json": _schema(HeaderKeys, "the header of a model"),
        "case.json": _case(),
    }
    return {name: json.dumps({"$schema": DIALECT, **schema}, indent=2) + "\n" for name, schema in schemas.items()}


def _schema(shape: type[Shape], title: str) -> Schema:
    return {**shape.model_json_schema(by_alias=True, mode="validation"), "title": title}


def _manifest() -> Schema:
    """Folders of models nest: a layer, a domain, or a domain in a layer."""
    schema = _schema(manifest.FileShape, "manifest.yml")
    settings = FolderSettings.model_json_schema(by_alias=True, mode="validation")
    inner = {"type": ["object", "null"], "properties": settings["properties"], "additionalProperties": False}
    domain = {**inner, "additionalProperties": inner}
    schema["properties"]["models"] = {**inner, "additionalProperties": domain}
    return schema


def _bronze() -> Schema:
    schema = _schema(landings.FileShape, "sql/bronze/<domain>.yml")
    topic = landings.TopicShape.model_json_schema(by_alias=True, mode="validation")
    schema["$defs"] = {**schema.get("$defs", {}), **topic.pop("$defs", {}), "Topic": topic}
    schema["properties"]["topics"]["additionalProperties"] = {"$ref": "#/$defs/Topic"}
    return schema


def _case() -> Schema:
    """A batch has a key for each topic beside its own."""
    schema = _schema(case.FileShape, "tests/models/<model>/<case>.yml")
    batch = schema["$defs"]["Batch"]
    batch["additionalProperties"] = batch["properties"].pop("records")["additionalProperties"]
    batch.pop("required", None)
    return schema
