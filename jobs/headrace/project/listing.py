"""What `headrace ls` shows of a project: every source and model, its query, and what flows in and out."""

from __future__ import annotations

from typing import Any

from headrace.project.model import Landing, Model, Project, Topic


def describe(project: Project) -> list[dict[str, Any]]:
    """Return one row per source, then one per model in the order in which they run, views before their readers."""
    sources = [_source(landing, topic) for landing in project.landings for topic in _relations(landing, project)]
    return sources + [_model(model) for model in _in_order(project)]


def _relations(landing: Landing, project: Project) -> tuple[Topic, ...]:
    """The topics of a landing, and its clock if there is a model that reads it."""
    clock = f"bronze.{landing.clock.name}"
    is_read = any(input_.table == clock for model in project.models for input_ in model.inputs)
    return landing.relations if is_read else landing.topics


def _source(landing: Landing, topic: Topic) -> dict[str, Any]:
    return {
        "model": f"bronze.{topic.name}",
        "layer": "bronze",
        "domain": landing.name,
        "kind": "clock" if topic.is_clock else "source",
        "engine": "landing",
        "query": landing.query,
        "inputs": [] if topic.is_clock else [f"kafka:{topic.topic}"],
        "outputs": [f"bronze.{topic.name}"],
        "description": topic.description,
        "path": topic.place.path,
    }


def _model(model: Model) -> dict[str, Any]:
    is_view = model.materialized == "view"
    return {
        "model": model.table,
        "layer": model.layer,
        "domain": model.domain,
        "kind": model.materialized,
        "engine": None if is_view else model.run,
        "query": model.query,
        "inputs": list(dict.fromkeys(input_.table for input_ in model.inputs)),
        "outputs": [] if is_view else [model.table, *_published(model)],
        "streams": list(dict.fromkeys(input_.table for input_ in model.inputs if input_.stream)),
        "tags": list(model.tags),
        "description": model.description,
        "path": model.path,
    }


def _published(model: Model) -> list[str]:
    if model.publish is None:
        return []
    # A topic named by a column shows the column, in braces.
    return [f"kafka:{model.publish.topic or f'{{{model.publish.topic_column}}}'}"]


def _in_order(project: Project) -> list[Model]:
    ordered: dict[str, Model] = {}

    def visit(model: Model) -> None:
        for input_ in model.inputs:
            view = views.get(input_.table)
            if view is not None and view.table not in ordered:
                visit(view)
        ordered.setdefault(model.table, model)

    views = {model.table: model for model in project.models if model.materialized == "view"}
    for query in project.queries:
        for model in query.models:
            visit(model)
    for view in views.values():
        visit(view)
    return list(ordered.values())
