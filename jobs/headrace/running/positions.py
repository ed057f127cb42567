"""Every position that is recorded in a data directory, compared with what it is about before anything starts."""

from __future__ import annotations

from collections.abc import Iterator

from headrace.errors import Finding, Place
from headrace.project.model import Project, Query
from headrace.queries import positions as batches
from headrace.running.log_readers import paths_of
from headrace.store.layout import Layout
from headrace.store.paths import StorePath
from headrace.streaming import positions as checkpoints
from headrace.streaming import source_names

CODE = "position-ahead"


def findings(project: Project, layout: Layout) -> Iterator[Finding]:
    """The queries whose recorded positions are ahead of the tables that exist. Needs neither Spark nor Kafka."""
    for query in project.queries:
        for fault in _faults(project, layout, query):
            yield Finding(Place(query.models[0].path), CODE, fault)


def _faults(project: Project, layout: Layout, query: Query) -> Iterator[str]:
    if query.engine != "streaming":
        return batches.faults(project, layout, query)
    checkpoint, written = layout.checkpoint(query.name), checkpoints.written_by(layout, query.models[0])
    return checkpoints.faults(query.name, written, checkpoint, _sources(project, layout, checkpoint))


def _sources(project: Project, layout: Layout, checkpoint: StorePath) -> dict[str, StorePath]:
    """The tables behind the streams of a checkpoint, by their names there; those behind a view share a name."""
    known = source_names.known(checkpoint)
    return {name: path for key, name in known.items() for path in paths_of(project, layout, source_names.table_of(key))}
