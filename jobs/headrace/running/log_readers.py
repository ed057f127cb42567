"""From which version on each table's log is still needed by those who read the log itself.

Most readers need no log: commits that left it are in the table's history (`store/history`). These do:

- a query in Spark's streaming engine: from where its checkpoint says;
- a query whose newest batch looked up a table as of a version: it may have to be run again;
- a query in the streaming engine that looks up a table: Spark reads it as of the query's start;
- a publisher: what it has not sent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from headrace.project import graph, rebuilds
from headrace.project.model import Project, Query
from headrace.queries.inputs import InputLog
from headrace.queries.positions import source_path
from headrace.store.layout import Layout
from headrace.store.paths import StorePath
from headrace.streaming import offset_log, source_names

Version = tuple[StorePath, int]
"""A table, and the first version of it that is needed."""


def bounds(project: Project, layout: Layout, others: Mapping[StorePath, int]) -> Mapping[StorePath, int]:
    """The first version that is needed of each table that anybody reads; `others` are those known of otherwise."""
    besides = [rebuilds.beside(layout, found, project.queries) for found in rebuilds.known(layout)]
    found = dict(others)
    for path, version in (each for around in (layout, *besides) for each in _needed(project, around)):
        found[path] = min(version, found.get(path, version))
    return found


def _needed(project: Project, layout: Layout) -> Iterator[Version]:
    for query in project.queries:
        yield from _streamed(project, layout, query) if query.engine == "streaming" else _as_of(project, layout, query)


def _as_of(project: Project, layout: Layout, query: Query) -> Iterator[Version]:
    newest = InputLog(layout.checkpoint(query.name)).newest()
    for table, version in (newest.snapshots if newest else {}).items():
        if (path := source_path(project, layout, table)) is not None:
            yield path, max(version, 0)


def _streamed(project: Project, layout: Layout, query: Query) -> Iterator[Version]:
    checkpoint = layout.checkpoint(query.name)
    if not (checkpoint / "offsets").is_dir():
        return
    done = offset_log.newest_commit(checkpoint)
    until = offset_log.read_until(checkpoint, done) if done >= 0 else {}
    for key, name in source_names.known(checkpoint).items():
        for path in paths_of(project, layout, source_names.table_of(key)):
            yield path, until.get(name, 0)


def paths_of(project: Project, layout: Layout, stream: str) -> Iterator[StorePath]:
    """The tables behind a stream; that of the ticks of a table's landing is called after the table."""
    known = graph.by_table(project.models)
    table = stream if stream in known or stream in _sources(project) else stream.removesuffix("_ticks")
    is_view = table in known and known[table].materialized == "view"
    for name in {read.table for read in graph.reads(known[table], known)} if is_view else {table}:
        if (path := source_path(project, layout, name)) is not None:
            yield path


def _sources(project: Project) -> set[str]:
    return {f"bronze.{topic.name}" for landing in project.landings for topic in landing.relations}
