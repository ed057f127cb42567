"""From which version on each table's log is still needed by those who read the log itself.

Most readers need no log: commits that left it are in the table's history (`store/history`). These do:

- a query in Spark's streaming engine: from where the last batch begins that its checkpoint has;
- a query whose newest batch looked up a table as of a version: it may have to be run again;
- a query in the streaming engine that looks up a table: Spark reads it as of the query's start;
- a publisher: what it has not sent.

A query that this run does not select needs as much as one that runs.

Rows that leave a table by its `keep` are needed by more: by every query that has begun and has not read them yet, and
by the current rows that are stored next to a change log, to which a reader adds the changes since.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain

from headrace.project import graph, rebuilds
from headrace.project.model import Project, Query
from headrace.queries.inputs import InputLog
from headrace.queries.positions import source_path
from headrace.store.commits import actions_of, commit_of, newest_batch, newest_version
from headrace.store.layout import Layout
from headrace.store.paths import StorePath
from headrace.streaming import offset_log, source_names

Version = tuple[StorePath, int]
"""A table, and the first version of it that is needed."""


def bounds(project: Project, layout: Layout, others: Mapping[StorePath, int]) -> Mapping[StorePath, int]:
    """The first version that is needed of each table that anybody reads; `others` are those known of otherwise."""
    return _firsts(chain(others.items(), _everywhere(_needed, project, layout)))


def unread(project: Project, layout: Layout) -> Mapping[StorePath, int]:
    """The first version of each table that a query which has begun has still to read, also next to the live ones."""
    return _firsts(chain(_everywhere(_unread, project, layout), _unstored(project, layout)))


def _everywhere(
    needs: Callable[[Project, Layout, Sequence[Query]], Iterator[Version]], project: Project, layout: Layout
) -> Iterator[Version]:
    """What all queries need, the live ones and those that are rebuilt beside them."""
    queries = graph.queries(project.models)
    for around in (layout, *(rebuilds.beside(layout, found, queries) for found in rebuilds.known(layout))):
        yield from needs(project, around, queries)


def _firsts(versions: Iterable[Version]) -> Mapping[StorePath, int]:
    """The first version of each table."""
    found = dict[StorePath, int]()
    for path, version in versions:
        found[path] = min(version, found.get(path, version))
    return found


def is_behind(project: Project, layout: Layout, model: str, table: str) -> bool:
    """Whether a model that has begun has yet to read rows that a landing or another query has stored in a table."""
    reader = next(each for each in project.queries if any(one.table == model for one in each.models))
    if any(one.table == table for one in reader.models):
        return False  # both are of one batch
    name = f"_landing.{project.topic(table.partition('.')[2])[0].name}" if table.startswith("bronze.") else table
    path = source_path(project, layout, name)
    known = (*_unread(project, layout, [reader]), *_unread_by_spark(project, layout, reader))
    first = min((version for at, version in known if at == path), default=None)
    if path is None or first is None:
        return False
    return any(_adds_rows(path, version) for version in range(first, newest_version(path) + 1))


def _adds_rows(table: StorePath, version: int) -> bool:
    try:
        commit = commit_of(version, actions_of(table, version))
    except FileNotFoundError:  # the log begins later, so this is long past
        return True
    return commit.has_rows and commit.added_rows


def _unread_by_spark(project: Project, layout: Layout, query: Query) -> Iterator[Version]:
    """Where a query in Spark's streaming engine is: behind the newest batch that is done."""
    checkpoint = layout.checkpoint(query.name)
    done = offset_log.newest_commit(checkpoint) if query.engine == "streaming" else -1
    until = offset_log.read_until(checkpoint, done) if done >= 0 else {}
    for key, name in source_names.known(checkpoint).items() if until else ():
        for path in paths_of(project, layout, source_names.table_of(key)):
            yield path, until.get(name, -1) + 1


def _unread(project: Project, layout: Layout, queries: Iterable[Query]) -> Iterator[Version]:
    """Where each group of models is: behind its newest batch, or before it as long as that may have to run again."""
    for query in queries:
        log = InputLog(layout.checkpoint(query.name))
        newest = log.newest() if query.engine == "micro_batch" else None
        if newest is not None:
            is_done = log.is_finished(newest.batch)
            for source, (after, upto) in newest.ranges.items():
                if (path := source_path(project, layout, source)) is not None:
                    yield path, (upto if is_done else after) + 1


def _unstored(project: Project, layout: Layout) -> Iterator[Version]:
    """The changes of upserts behind the current rows that were stored last."""
    for model in project.models:
        if model.materialized == "upsert" and model.keep is not None:
            stored = newest_batch(layout.table(model.table), model.query or model.name)
            changes = layout.changes(model.table)
            if stored >= 0:
                yield changes, _first_after(changes, stored)


def _first_after(table: StorePath, batch: int) -> int:
    """The first version of a table behind a batch, or the first that its log has."""
    version = newest_version(table) + 1
    with suppress(FileNotFoundError):  # the log begins here
        while version > 0 and not 0 <= commit_of(version - 1, actions_of(table, version - 1)).batch <= batch:
            version -= 1
    return version


def _needed(project: Project, layout: Layout, queries: Iterable[Query]) -> Iterator[Version]:
    for query in queries:
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
    # At a start Spark asks each source once more for the last batch that is done.
    done = offset_log.newest_commit(checkpoint)
    until = offset_log.read_until(checkpoint, done - 1) if done >= 1 else {}
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
