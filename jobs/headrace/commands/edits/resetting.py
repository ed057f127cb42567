"""Resetting a query: its progress and its output are removed together; what it has published is not sent again."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from headrace.commands.workspace import Workspace
from headrace.errors import ExitCode, UsageError, did_you_mean
from headrace.project import graph, resets
from headrace.project.declarations import landings
from headrace.project.model import Landing, Model, Project, Query
from headrace.project.resets import ResetNote, Start, read_note, stored
from headrace.publishing.outstanding import may_be_outstanding, outstanding
from headrace.queries.inputs import InputLog
from headrace.store import lease
from headrace.store.commits import MARKER
from headrace.store.delta_tables import is_table, open_table
from headrace.store.layout import Layout
from headrace.store.paths import StorePath


def reset(workspace: Workspace, name: str, yes: bool, start: str | None, republish: bool) -> int:
    """Remove what a query has stored; without `yes` only list it."""
    project = workspace.declared
    chosen = _chosen(project, name)
    begin = _start(chosen, start)
    layout = workspace.layout
    if not yes:
        _print_paths("would remove", layout, chosen)
        print("nothing was changed; say --yes to do it", file=sys.stderr)
        return ExitCode.OK
    with lease.held(layout), _connected(workspace, chosen, republish) as connected:
        refuse_unsent(connected, layout, chosen, republish)
        _print_paths("removing", layout, chosen)
        forget(project, layout, chosen, begin, republish)
    return ExitCode.OK


def forget(
    project: Project, layout: Layout, chosen: Query | Landing, start: Start | None = None, republish: bool = False
) -> None:
    """Remove what a query has stored, and leave a note for its next start; the runner's lock must be held."""
    resets.finish(layout)
    name = chosen.query if isinstance(chosen, Landing) else chosen.name
    note = ResetNote(start, {} if republish else _barrier(project, layout, chosen))
    resets.reset(layout, name, _stored(layout, chosen), note)


def refuse_unsent(project: Project, layout: Layout, chosen: Query | Landing, republish: bool = False) -> None:
    """UsageError if rows would be lost: those of a table that are not in its topic yet, unless all are sent again.

    The project's broker must be running if anything may be outstanding.
    """
    for model in [] if republish else _published(layout, chosen):
        if rows := outstanding(project, layout, model):
            raise UsageError(
                f"{rows} rows of {model.table} are not sent yet, and would be lost: send them with "
                f"`headrace run --select {model.query} --available-now` and the text that made them, "
                f"or send all rows again with `headrace reset {model.query} --republish --yes`"
            )


def _published(layout: Layout, chosen: Query | Landing) -> list[Model]:
    models = chosen.models if isinstance(chosen, Query) else ()
    return [model for model in models if may_be_outstanding(layout, model)]


def _connected(workspace: Workspace, chosen: Query | Landing, republish: bool) -> AbstractContextManager[Project]:
    """The project with its broker, if that has to be queried."""
    asks = not republish and _published(workspace.layout, chosen)
    return workspace.with_broker() if asks else nullcontext(workspace.declared)


def _chosen(project: Project, name: str) -> Query | Landing:
    known: dict[str, Query | Landing] = {landing.query: landing for landing in project.landings}
    known |= {query.name: query for query in project.queries}
    if name not in known:
        raise UsageError(f"no query {name}; there are {', '.join(known)}.{did_you_mean(name, known)}")
    return known[name]


def _print_paths(what: str, layout: Layout, chosen: Query | Landing) -> None:
    for path in _stored(layout, chosen):
        if path.exists():
            print(f"{what} {path}", file=sys.stderr)


def _start(chosen: Query | Landing, text: str | None) -> Start | None:
    """The start that `--from` names; it is validated before anything is removed."""
    if isinstance(chosen, Query) and text is not None:
        raise UsageError(f"--from says where a landing starts; {chosen.name} reads tables, reset its landing instead")
    if isinstance(chosen, Query) or text is None or text in ("earliest", "latest"):
        return text
    topics = _json(text)
    if not isinstance(topics, Mapping) or not topics:
        near = did_you_mean(text, ("earliest", "latest"))
        raise UsageError(f'--from takes earliest, latest or offsets such as {{"logs": {{"0": 120}}}}.{near}')
    start = {_topic(chosen, name): _offsets(name, value) for name, value in topics.items()}
    if len(start) < len(topics):
        raise UsageError(f"--from names a topic twice: {', '.join(topics)}; a source and its Kafka topic are one")
    return start


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _topic(landing: Landing, name: str) -> str:
    """The Kafka name of a topic that is identified by it, or by the name of its source."""
    known = {topic.name: topic.topic for topic in landing.topics}
    known |= {topic.topic: topic.topic for topic in landing.topics}
    if name not in known:
        there = f"--from: landing {landing.name} has no topic {name}; there are {', '.join(known)}"
        raise UsageError(f"{there}.{did_you_mean(name, known)}")
    return known[name]


def _offsets(topic: str, value: Any) -> Mapping[str, int]:
    offsets = landings.offsets_of(value)
    if offsets is None:
        raise UsageError(f'--from: {topic} takes offsets by partition, whole numbers from 0 on, such as {{"0": 120}}')
    return offsets


def _barrier(project: Project, layout: Layout, chosen: Query | Landing) -> dict[str, int]:
    """Version of each table that a query streams: rows derived from them have been sent."""
    if isinstance(chosen, Landing):
        return {}
    if chosen.engine == "micro_batch":
        return _processed(layout, chosen)
    known = graph.by_table(project.models)
    streamed = {read.table for model in chosen.models for read in graph.reads(model, known) if read.stream}
    paths = dict(_source(project, layout, known, table) for table in streamed)
    return {name: open_table(path).version() for name, path in paths.items() if is_table(path)}


def _processed(layout: Layout, query: Query) -> dict[str, int]:
    """How far a query has read each source, now or before an earlier reset; what landed later was never sent."""
    log, former = InputLog(layout.checkpoint(query.name)), read_note(layout.checkpoint(query.name)).barrier
    last = log.newest()
    if last is not None and not log.is_finished(last.batch) and not _is_committed(layout, query, last.batch):
        last = log.last_finished()
    done = {name: upto for name, (_, upto) in last.ranges.items()} if last else {}
    return {name: max(done.get(name, -1), former.get(name, -1)) for name in {**former, **done}}


def _is_committed(layout: Layout, query: Query, batch: int) -> bool:
    """Whether an interrupted batch has committed rows that may have been sent."""
    for model in query.models:
        path = layout.appended(model.table, model.materialized == "upsert")
        metadata = open_table(path).history(1)[0].get("userMetadata") if is_table(path) else None
        if model.publish and json.loads(metadata or "{}").get(MARKER, {}).get("batch", -1) >= batch:
            return True
    return False


def _source(project: Project, layout: Layout, known: dict[str, Model], table: str) -> tuple[str, StorePath]:
    if table.startswith("bronze."):
        landing, _ = project.topic(table.split(".")[1])
        return f"_landing.{landing.name}", layout.landing(landing.name)
    return table, layout.appended(table, known[table].materialized == "upsert")


def _stored(layout: Layout, chosen: Query | Landing) -> Iterator[StorePath]:
    if isinstance(chosen, Landing):
        yield layout.landing(chosen.name)
        yield layout.checkpoint(chosen.query)
    else:
        yield from stored(layout, chosen)
