"""Forgetting a query: its progress and its output go together, what it had published is not sent again."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

from deltalake import DeltaTable

from headrace.commands.workspace import Workspace
from headrace.engine.delta import MARKER
from headrace.engine.inputs import InputLog
from headrace.environment.lock import runner_lock
from headrace.errors import ExitCode, UsageError, did_you_mean
from headrace.layout import Layout
from headrace.project import graph, resets
from headrace.project.model import Landing, Model, Project, Query
from headrace.project.resets import ResetNote, Start, read_note, stored


def reset(workspace: Workspace, name: str, yes: bool, start: str | None, republish: bool) -> int:
    """Remove what a query has stored; without `yes` only say what that is."""
    project, layout = workspace.declared, workspace.layout
    chosen = _chosen(project, name)
    if isinstance(chosen, Query) and start is not None:
        raise UsageError(f"--from says where a landing starts; {name} reads tables, reset its landing instead")
    paths = [path for path in _stored(layout, chosen) if path.exists()]
    for path in paths:
        print(f"{'removing' if yes else 'would remove'} {path}", file=sys.stderr)
    if not yes:
        print("nothing was changed; say --yes to do it", file=sys.stderr)
        return ExitCode.OK
    with runner_lock(layout.locks):
        forget(project, layout, chosen, _start(start), republish)
    return ExitCode.OK


def forget(
    project: Project, layout: Layout, chosen: Query | Landing, start: Start | None = None, republish: bool = False
) -> None:
    """Remove what a query has stored, and leave a note for its next start; the runner's lock must be held."""
    resets.finish(layout)
    name = chosen.query if isinstance(chosen, Landing) else chosen.name
    note = ResetNote(start, {} if republish else _barrier(project, layout, chosen))
    resets.reset(layout, name, _stored(layout, chosen), note)


def _chosen(project: Project, name: str) -> Query | Landing:
    known: dict[str, Query | Landing] = {landing.query: landing for landing in project.landings}
    known |= {query.name: query for query in project.queries}
    if name not in known:
        raise UsageError(f"no query {name}; there are {', '.join(known)}.{did_you_mean(name, known)}")
    return known[name]


def _start(text: str | None) -> Start | None:
    if text is None or text in ("earliest", "latest"):
        return text
    try:
        told = json.loads(text)
        return {str(topic): {str(p): int(o) for p, o in offsets.items()} for topic, offsets in told.items()}
    except (ValueError, AttributeError, TypeError):
        raise UsageError('--from takes earliest, latest or offsets such as {"logs": {"0": 120}}') from None


def _barrier(project: Project, layout: Layout, chosen: Query | Landing) -> dict[str, int]:
    """Version of each table that a query streams: rows caused by these have been sent."""
    if isinstance(chosen, Landing):
        return {}
    if chosen.engine == "micro_batch":
        return _processed(layout, chosen)
    known = graph.by_table(project.models)
    streamed = {read.table for model in chosen.models for read in graph.reads(model, known) if read.stream}
    paths = dict(_source(project, layout, known, table) for table in streamed)
    return {name: DeltaTable(str(path)).version() for name, path in paths.items() if (path / "_delta_log").exists()}


def _processed(layout: Layout, query: Query) -> dict[str, int]:
    """How far a query has read each source, now or before a former reset; what else has landed was never sent."""
    log, former = InputLog(layout.checkpoint(query.name)), read_note(layout.checkpoint(query.name)).barrier
    last = log.newest()
    if last is not None and not log.is_finished(last.batch) and not _is_committed(layout, query, last.batch):
        last = log.last_finished()
    done = {name: upto for name, (_, upto) in last.ranges.items()} if last else {}
    return {name: max(done.get(name, -1), former.get(name, -1)) for name in {**former, **done}}


def _is_committed(layout: Layout, query: Query, batch: int) -> bool:
    """Whether a batch that was broken off has left rows that may have been sent."""
    for model in query.models:
        path = layout.appended(model.table, model.materialized == "upsert")
        told = DeltaTable(str(path)).history(1)[0].get("userMetadata") if DeltaTable.is_deltatable(str(path)) else None
        if model.publish and json.loads(told or "{}").get(MARKER, {}).get("batch", -1) >= batch:
            return True
    return False


def _source(project: Project, layout: Layout, known: dict[str, Model], table: str) -> tuple[str, Path]:
    if table.startswith("bronze."):
        landing, _ = project.topic(table.split(".")[1])
        return f"_landing.{landing.name}", layout.landing(landing.name)
    return table, layout.appended(table, known[table].materialized == "upsert")


def _stored(layout: Layout, chosen: Query | Landing) -> Iterator[Path]:
    if isinstance(chosen, Landing):
        yield layout.landing(chosen.name)
        yield layout.checkpoint(chosen.query)
    else:
        yield from stored(layout, chosen)
