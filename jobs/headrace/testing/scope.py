"""The part of a project that a case needs: a model, its query's others, and all that they read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from headrace.project import graph
from headrace.project.model import Model, Project, Query


def narrowed(project: Project, tables: Iterable[str]) -> Project:
    """The project with only the models behind some tables, and their queries."""
    needed: dict[str, Model] = {}
    waiting = [table for table in tables if not table.startswith("bronze.")]
    while waiting:
        model = project.model(waiting.pop())
        if model.table not in needed:
            needed[model.table] = model
            waiting += [ref.table for ref in model.inputs if not ref.table.startswith("bronze.")]
            waiting += [other.table for other in project.models if model.query and other.query == model.query]
    queries = tuple(query for query in project.queries if query.models[0].table in needed)
    return replace(project, models=tuple(m for m in project.models if m.table in needed), queries=queries)


def fits_memory(project: Project, query: Query) -> bool:
    """Whether a query reads nothing but what lands and its own state, so that it can run without tables."""
    kinds = {model.table: model.materialized for model in query.models}
    known = graph.by_table(project.models)
    reads = [read for model in query.models for read in graph.reads(model, known)]
    own = (read.stream or kinds[read.table] == "upsert" for read in reads if read.table in kinds)
    others = (read.stream and read.table.startswith("bronze.") for read in reads if read.table not in kinds)
    return query.engine == "micro_batch" and all(own) and all(others)
