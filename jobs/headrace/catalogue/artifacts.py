"""manifest.json and run_results.json in dbt's form, so that catalogues which know dbt know a headrace project."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path, PurePosixPath
from typing import Any, Literal
from uuid import uuid4

from headrace.project.declarations import event_times
from headrace.project.model import Landing, Macro, Model, Project, Topic
from headrace.version import __version__

MANIFEST = "https://schemas.getdbt.com/dbt/manifest/v12.json"
RUN_RESULTS = "https://schemas.getdbt.com/dbt/run-results/v6.json"
_DBT = "1.9.0"
"""The version of dbt whose artifacts these are like."""

_KINDS = {"view": "view", "append": "incremental", "upsert": "incremental", "snapshot": "incremental"}


@dataclass(frozen=True)
class Result:
    """The outcome of one model or one test; `seconds` is how long it ran."""

    unique_id: str
    status: Literal["success", "error", "pass", "fail", "skipped"]
    seconds: float = 0.0
    rows: int | None = None
    message: str | None = None


def model_id(project: Project, model: Model) -> str:
    """Return dbt's name for a model; a name is unique in its layer only, so the layer is part of it."""
    return f"model.{project.name}.{model.layer}_{model.name}"


def test_id(project: Project, path: str) -> str:
    """Return dbt's name for the test case of a path."""
    case = PurePosixPath(path)
    return f"unit_test.{project.name}.{case.parent.name}.{case.stem}"


def manifest(project: Project, cases: Iterable[Mapping[str, Any]] = ()) -> dict[str, Any]:
    """Return the manifest: models, sources, macros, published topics, unit tests, and their dependencies."""
    nodes = {model_id(project, model): _node(project, model) for model in project.models}
    sources = {_source_id(project, *at): _source(project, *at) for at in _topics(project)}
    macros = {f"macro.{project.name}.{macro.name}": _macro(project, macro) for macro in project.macros}
    exposures = {each["unique_id"]: each for each in map(lambda m: _exposure(project, m), project.models) if each}
    tests = {test["unique_id"]: test for test in (_unit_test(project, case) for case in cases)}
    parents = {name: each["depends_on"]["nodes"] for name, each in {**nodes, **exposures, **tests}.items()}
    parents |= {name: [] for name in sources}
    return {
        "metadata": {**_metadata(MANIFEST), "project_name": project.name, "adapter_type": "spark"},
        "nodes": nodes,
        "sources": sources,
        "macros": macros,
        "exposures": exposures,
        "unit_tests": tests,
        "parent_map": parents,
        "child_map": {name: sorted(other for other in parents if name in parents[other]) for name in parents},
        **{part: {} for part in ("docs", "metrics", "groups", "selectors", "disabled", "group_map")},
        **{part: {} for part in ("saved_queries", "semantic_models")},
    }


def run_results(results: Iterable[Result], elapsed: float) -> dict[str, Any]:
    """Return the results of one run or one test run."""
    return {
        "metadata": _metadata(RUN_RESULTS),
        "results": [_result(result) for result in results],
        "elapsed_time": elapsed,
        "args": {},
    }


def write(folder: Path, name: str, artifact: Mapping[str, Any]) -> Path:
    """Write one artifact into a folder, whole or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    temporary = folder / f".{name}.tmp"
    temporary.write_text(json.dumps(artifact, indent=1, default=str), "utf-8")
    return temporary.replace(folder / name)


def _metadata(schema: str) -> dict[str, Any]:
    return {
        "dbt_schema_version": schema,
        "dbt_version": _DBT,
        "generated_at": datetime.now(timezone.utc).isoformat().replace("+00:00", "Z"),
        "invocation_id": str(uuid4()),
        "env": {},
        "generator": f"headrace {__version__}",
    }


def _node(project: Project, model: Model) -> dict[str, Any]:
    own = {"materialized": _KINDS[model.materialized], "headrace": model.materialized, "engine": model.run}
    config = {**own, "query": model.query, "unique_key": list(model.unique_key) or None, "tags": list(model.tags)}
    meta = {**model.meta, **({"owner": model.owner} if model.owner else {})}
    return {
        **_named(project, model_id(project, model), model.name, model.path, "model"),
        "schema": model.layer,
        "alias": model.name,
        "relation_name": None if model.materialized == "view" else model.table,
        "fqn": [project.name, model.layer, model.domain, model.name],
        "description": model.description,
        "columns": {name: _column(name, model.columns.get(name)) for name in _columns(model)},
        "raw_code": model.text,
        "compiled_code": model.text,
        "compiled": True,
        "language": "sql",
        "checksum": {"name": "none", "checksum": ""},
        "tags": list(model.tags),
        "meta": meta,
        "config": {**config, "enabled": True, "meta": meta},
        "refs": [{"name": each.name, "package": None, "version": None} for each in _read_models(project, model)],
        "sources": [[landing.name, topic.name] for landing, topic in _read_topics(project, model)],
        "depends_on": {"macros": [], "nodes": _parents(project, model)},
    }


def _source(project: Project, landing: Landing, topic: Topic) -> dict[str, Any]:
    fields = {field.name: _column(field.name, field.type) for field in topic.fields}
    return {
        **_named(project, _source_id(project, landing, topic), topic.name, topic.place.path, "source"),
        "schema": "bronze",
        "source_name": landing.name,
        "source_description": "",
        "identifier": topic.topic,
        "loader": "kafka",
        "relation_name": f"bronze.{topic.name}",
        "fqn": [project.name, "bronze", landing.name, topic.name],
        "description": topic.description,
        "columns": fields,
        "tags": [landing.name],
        "meta": {"kafka_topic": topic.topic, "event_time": event_times.describe(topic)},
        "config": {"enabled": True},
    }


def _exposure(project: Project, model: Model) -> dict[str, Any] | None:
    if model.publish is None:
        return None
    topic = model.publish.topic or f"{{{model.publish.topic_column}}}"
    name = "".join(letter if letter.isalnum() else "_" for letter in topic.strip("{}"))
    return {
        **_named(project, f"exposure.{project.name}.{name}", name, model.path, "exposure"),
        "type": "application",
        "label": f"Kafka topic {topic}",
        "description": model.description,
        "owner": {"name": model.owner, "email": None},
        "fqn": [project.name, name],
        "depends_on": {"macros": [], "nodes": [model_id(project, model)]},
    }


def _macro(project: Project, macro: Macro) -> dict[str, Any]:
    unique_id = f"macro.{project.name}.{macro.name}"
    named = _named(project, unique_id, macro.name, macro.path, "macro")
    return {**named, "macro_sql": macro.text, "depends_on": {"macros": []}}


def _unit_test(project: Project, case: Mapping[str, Any]) -> dict[str, Any]:
    model = project.model(case["model"])
    return {
        **_named(project, test_id(project, case["path"]), case["name"], case["path"], "unit_test"),
        "model": model.name,
        "description": case["description"],
        "given": case["given"],
        "expect": {"rows": case["expect"], "format": "dict"},
        "fqn": [project.name, model.layer, model.domain, model.name, case["name"]],
        "depends_on": {"macros": [], "nodes": [model_id(project, model)]},
    }


def _result(result: Result) -> dict[str, Any]:
    return {
        "unique_id": result.unique_id,
        "status": result.status,
        "timing": [],
        "thread_id": "MainThread",
        "execution_time": result.seconds,
        "adapter_response": {} if result.rows is None else {"rows_affected": result.rows},
        "message": result.message,
        "failures": None,
        "compiled": None,
        "compiled_code": None,
        "relation_name": None,
    }


def _named(project: Project, unique_id: str, name: str, path: str, kind: str) -> dict[str, Any]:
    return {
        "unique_id": unique_id,
        "name": name,
        "resource_type": kind,
        "package_name": project.name,
        "database": project.name,
        "path": path,
        "original_file_path": path,
    }


def _column(name: str, kind: str | None) -> dict[str, Any]:
    return {"name": name, "description": "", "data_type": kind, "meta": {}, "tags": []}


def _columns(model: Model) -> list[str]:
    return list(dict.fromkeys((*(model.output_columns or ()), *model.columns)))


def _topics(project: Project) -> list[tuple[Landing, Topic]]:
    return [(landing, topic) for landing in project.landings for topic in landing.topics]


def _source_id(project: Project, landing: Landing, topic: Topic) -> str:
    return f"source.{project.name}.{landing.name}.{topic.name}"


def _read_models(project: Project, model: Model) -> list[Model]:
    read = {input_.table for input_ in model.inputs} - {model.table}
    return [other for other in project.models if other.table in read]


def _read_topics(project: Project, model: Model) -> list[tuple[Landing, Topic]]:
    read = {input_.table for input_ in model.inputs}
    return [at for at in _topics(project) if f"bronze.{at[1].name}" in read]


def _parents(project: Project, model: Model) -> list[str]:
    models = [model_id(project, other) for other in _read_models(project, model)]
    return sorted([*models, *(_source_id(project, *at) for at in _read_topics(project, model))])
