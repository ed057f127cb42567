"""The positions of a query that runs in batches: what it has read and written, compared with the tables that exist."""

from __future__ import annotations

from collections.abc import Iterator

from headrace.project.model import Project, Query
from headrace.queries.inputs import InputLog, Inputs
from headrace.store.commits import newest_batch
from headrace.store.layout import Layout
from headrace.store.paths import StorePath
from headrace.tables.positions import Extent, Position, ahead_of_output, ahead_of_source


def faults(project: Project, layout: Layout, query: Query) -> Iterator[str]:
    """What is wrong with the recorded positions of a query: those that are ahead of what exists."""
    log = InputLog(layout.checkpoint(query.name))
    last = log.newest()
    read = _read(last, _is_done(layout, query, log, last)) if last else ()
    found = [(position, ahead_of_source) for position in read]
    found += [(position, ahead_of_output) for position in log.written()]
    for position, fault_of in found:
        if (path := source_path(project, layout, position.table)) is not None and (
            fault := fault_of(query.name, position, Extent.of(path))
        ):
            yield fault


def _is_done(layout: Layout, query: Query, log: InputLog, last: Inputs) -> bool:
    """Whether the last batch need not run again; a snapshot is done once it is in its table."""
    if query.engine == "snapshot":
        model = query.models[0]
        return newest_batch(layout.table(model.table), model.query or model.name) >= last.batch
    return log.is_finished(last.batch)


def source_path(project: Project, layout: Layout, name: str) -> StorePath | None:
    """Where the rows of a landing, a source or a model are appended; None for one that the project has no more."""
    if name.startswith("_landing."):
        return layout.landing(name.partition(".")[2])
    try:
        if name.startswith("bronze."):
            return layout.landing(project.topic(name.partition(".")[2])[0].name)
        return layout.appended(name, project.model(name).materialized == "upsert")
    except KeyError:
        return None


def _read(last: Inputs, is_finished: bool) -> Iterator[Position]:
    """What the last batch has read; what it looked up counts only as long as it may have to run again."""
    for name, (_, upto) in last.ranges.items():
        yield Position(name, upto, last.ids.get(name))
    for table, version in last.snapshots.items() if not is_finished else ():
        yield Position(table, version, last.ids.get(table))
