"""The part of a project that a case needs: a model and all that it reads, without the rest of its query."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

from headrace.project import graph
from headrace.project.model import Model, Project, Query
from headrace.testing.cases.landing import Landed
from headrace.testing.runs.sandbox import Sandbox


@dataclass(frozen=True)
class Scope:
    """The part of a project behind the checked tables, what lands in it, and where it runs."""

    sandbox: Sandbox
    project: Project
    landed: Landed
    tables: Collection[str]


def narrowed(project: Project, tables: Iterable[str]) -> Project:
    """The project with only the models behind some tables, and the part of their queries that runs them."""
    needed: dict[str, Model] = {}
    waiting = [table for table in tables if not table.startswith("bronze.")]
    while waiting:
        model = project.model(waiting.pop())
        if model.table not in needed:
            needed[model.table] = model
            reads = [*(ref.table for ref in model.inputs), *(test.to for test in model.tests if test.to)]
            waiting += [table for table in reads if not table.startswith("bronze.")]
    parts = (replace(q, models=tuple(m for m in q.models if m.table in needed)) for q in project.queries)
    queries = tuple(query for query in parts if query.models)
    return replace(project, models=tuple(m for m in project.models if m.table in needed), queries=queries)


def fits_memory(project: Project) -> bool:
    """Whether its only query reads nothing but what lands and its own state, so that it can run without tables."""
    return len(project.queries) == 1 and _reads_itself(project, project.queries[0])


def _reads_itself(project: Project, query: Query) -> bool:
    kinds = {model.table: model.materialized for model in query.models}
    known = graph.by_table(project.models)
    reads = [read for model in query.models for read in graph.reads(model, known)]
    own = (read.stream or (kinds[read.table] == "upsert" and not read.past) for read in reads if read.table in kinds)
    others = (read.stream and read.table.startswith("bronze.") for read in reads if read.table not in kinds)
    related = (test.to in kinds for model in query.models for test in model.tests if test.to)
    return query.engine == "micro_batch" and all(own) and all(others) and all(related)
