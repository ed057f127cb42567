"""Skipping a batch that cannot run: its query goes on after it, and what it would have read is written down."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import datetime, timezone

from headrace.commands.workspace import Workspace
from headrace.errors import ExitCode, UsageError, did_you_mean
from headrace.project import skips
from headrace.project.model import Project, Query
from headrace.project.skips import Skip
from headrace.queries.inputs import InputLog, Inputs
from headrace.queries.positions import source_path
from headrace.store import lease
from headrace.store.commits import actions_of, commit_of, newest_batch
from headrace.store.delta_tables import is_table
from headrace.store.layout import Layout
from headrace.store.paths import StorePath


def skip(workspace: Workspace, name: str, batch: int) -> int:
    """Step over the batch of a query that was begun and cannot be finished."""
    project, layout = workspace.declared, workspace.layout
    query = _query(project, name)
    with lease.held(layout):
        log = InputLog(layout.checkpoint(query.name))
        inputs = _unfinished(query, log, batch)
        skipped = _skip(project, layout, query, inputs)
        skips.note(layout, skipped)  # first: a batch that is finished and of which no note is left was lost silently
        log.finish(batch, log.written())
    print(f"headrace: {skipped}", file=sys.stderr)
    return ExitCode.OK


def _query(project: Project, name: str) -> Query:
    known = {query.name: query for query in project.queries}
    if name not in known:
        hint = " What a landing cannot read it refuses record by record." if name.startswith("ingest_") else ""
        raise UsageError(f"no query {name}; there are {', '.join(known)}.{did_you_mean(name, known)}{hint}")
    if known[name].engine != "micro_batch":
        raise UsageError(
            f"{name} runs in Spark's streaming engine, whose state is made by all of its batches: none can be skipped. "
            f"Mend the model, or `headrace rebuild {name}`"
        )
    return known[name]


def _unfinished(query: Query, log: InputLog, batch: int) -> Inputs:
    """The recorded inputs of the batch; UsageError unless it is the one that its query would run next, again."""
    last = log.newest()
    if last is None or log.is_finished(last.batch):
        done = "it has run none yet" if last is None else f"all of them are finished, up to {last.batch}"
        raise UsageError(f"no batch of {query.name} waits to be run again; {done}")
    if last.batch != batch:
        raise UsageError(f"only batch {last.batch} of {query.name} can be skipped, which was begun and is not finished")
    return last


def _skip(project: Project, layout: Layout, query: Query, inputs: Inputs) -> Skip:
    ranges = {name: (after, upto) for name, (after, upto) in inputs.ranges.items() if upto > after}
    paths = {name: source_path(project, layout, name) for name in ranges}
    rows = sum(_rows(path, *ranges[name]) for name, path in paths.items() if path is not None)
    now = datetime.now(timezone.utc).isoformat()
    return Skip(query.name, inputs.batch, now, ranges, rows, tuple(_written(layout, query, inputs.batch)))


def _rows(table: StorePath, after: int, upto: int) -> int:
    """How many rows some versions of a table have added; those that have left its log are not counted."""
    found = 0
    for version in range(after + 1, upto + 1):
        try:
            found += commit_of(version, actions_of(table, version)).records
        except FileNotFoundError:
            continue
    return found


def _written(layout: Layout, query: Query, batch: int) -> Iterator[str]:
    """The tables that have committed the batch."""
    for model in query.models:
        path = layout.appended(model.table, model.materialized == "upsert")
        if is_table(path) and newest_batch(path, query.name) >= batch:
            yield model.table
