"""Tables that a run reads and that do not exist: the query that writes them is not selected and has never run.

Read as if they were empty, they would give other rows than the same queries give when they all run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from headrace.errors import Finding, Place
from headrace.project import graph
from headrace.project.model import Model, Project
from headrace.store.layout import Layout

CODE = "no-table"


def findings(project: Project, layout: Layout) -> Iterator[Finding]:
    """The places where selected models read such a table, each table once a model. Needs neither Spark nor Kafka."""
    known = graph.by_table(project.models)
    running = {query.name for query in project.queries}
    for model in (model for query in project.queries for model in query.models):
        for table, place in _read(model, known).items():
            writer = known.get(table)
            if writer is not None and writer.query not in running and not _exists(layout, writer):
                what = f"{table} does not exist yet, as its query {writer.query} has never run"
                yield Finding(place, CODE, f"{what}; run it first, or select it too: `--select {writer.query}`")


def _read(model: Model, known: Mapping[str, Model]) -> Mapping[str, Place]:
    """The stored tables that a model's text and its data tests read, with a place of each."""
    tested = {test.to: test.place or Place(model.path) for test in model.tests if test.to is not None}
    return tested | {read.table: read.place for read in graph.reads(model, known)}


def _exists(layout: Layout, writer: Model) -> bool:
    return (layout.appended(writer.table, writer.materialized == "upsert") / "_delta_log").is_dir()
