"""Every position that is recorded in a data directory, compared with what it is about before anything starts."""

from __future__ import annotations

from collections.abc import Iterator

from headrace.errors import Finding, Place
from headrace.project.model import Project, Query
from headrace.queries import positions as batches
from headrace.queries.inputs import InputLog
from headrace.running.log_readers import paths_of
from headrace.store.layout import Layout
from headrace.store.paths import StorePath
from headrace.streaming import offset_log, source_names
from headrace.streaming import positions as checkpoints
from headrace.tables.positions import Extent

CODE = "position-ahead"


def findings(project: Project, layout: Layout) -> Iterator[Finding]:
    """The queries whose recorded positions are ahead of the tables that exist. Needs neither Spark nor Kafka."""
    for query in project.queries:
        for fault in _faults(project, layout, query):
            yield Finding(Place(query.models[0].path), CODE, fault)


def have_read_others(project: Project, layout: Layout) -> Iterator[str]:
    """The queries that have read a table of which another one, or an older copy, has taken the place."""
    for query in project.queries:
        is_ahead = next(_faults(project, layout, query), None) is not None
        if is_ahead or any(read not in (None, Extent.of(path).id) for path, read in _read(project, layout, query)):
            yield query.name


def _read(project: Project, layout: Layout, query: Query) -> Iterator[tuple[StorePath, str | None]]:
    """The tables that a query has read in its last batch, and the ids that they had."""
    checkpoint = layout.checkpoint(query.name)
    if query.engine != "streaming":
        last = InputLog(checkpoint).newest()
        for name in last.ranges if last else ():
            if (path := batches.source_path(project, layout, name)) is not None:
                yield path, last.ids.get(name) if last else None
        return
    begun, sources = offset_log.newest_begun(checkpoint), _sources(project, layout, checkpoint)
    for name, (table_id, _) in (offset_log.read_of(checkpoint, begun) if begun >= 0 else {}).items():
        if name in sources:
            yield sources[name], table_id


def _faults(project: Project, layout: Layout, query: Query) -> Iterator[str]:
    if query.engine != "streaming":
        return batches.faults(project, layout, query)
    checkpoint, written = layout.checkpoint(query.name), checkpoints.written_by(layout, query.models[0])
    return checkpoints.faults(query.name, written, checkpoint, _sources(project, layout, checkpoint))


def _sources(project: Project, layout: Layout, checkpoint: StorePath) -> dict[str, StorePath]:
    """The tables behind the streams of a checkpoint, by their names there; those behind a view share a name."""
    known = source_names.known(checkpoint)
    return {name: path for key, name in known.items() for path in paths_of(project, layout, source_names.table_of(key))}
