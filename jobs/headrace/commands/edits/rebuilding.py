"""Rebuilding a query next to the running one: filling, comparing, swapping, dropping."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from headrace.commands.edits import differences
from headrace.commands.running import Stopped, stop_on_signals
from headrace.commands.workspace import Workspace
from headrace.environment import swap as swaps
from headrace.errors import ExitCode, Finding, InvalidProject, UsageError
from headrace.logs import event_logger
from headrace.planning import declared, plan
from headrace.planning.declared import Declared, Schemas
from headrace.planning.verdict import Verdict
from headrace.project import graph, rebuilds, resets, selection
from headrace.project.model import Project, Query
from headrace.project.rebuilds import Rebuild
from headrace.reading import printing
from headrace.store import lease
from headrace.store.delta_tables import is_table
from headrace.store.layout import Layout
from headrace.store.maintenance import retention
from headrace.store.paths import StorePath

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

    from headrace.tables.diff import Difference


def fill(workspace: Workspace, name: str) -> int:
    """Rebuild a model's query next to the running one, or resume that, until it has caught up."""
    project, layout = workspace.declared, workspace.layout
    rebuild = _wanted(project, layout, name)
    _refuse_unfit(project, layout, rebuild)
    _tell_what_is_kept(project, layout, rebuild)
    with (
        stop_on_signals() as stopped,
        _held(layout, rebuild, stopped.event),
        _spark(project, layout, rebuild) as (spark, schemas),
    ):
        types = _types(schemas)
        _refuse_edited_sources(project, layout, rebuild, types)
        _begin(project, layout, rebuild, types)
        filled = _refill(spark, project, rebuild, schemas, stopped)
    if filled is not None:
        _print(f"the rebuild of {rebuild.title} is complete; see `headrace diff {name}`, then swap it in with --swap")
    return stopped.exit_code


def swap(workspace: Workspace, name: str, days: float) -> int:
    """Let the rebuild catch up while no runner is active, and swap it in."""
    project, layout = workspace.declared, workspace.layout
    rebuild = _found(project, layout, name)
    _refuse_unfit(project, layout, rebuild)
    with (
        stop_on_signals() as stopped,
        _held(layout, rebuild, stopped.event),
        lease.held(layout, stopped.event),
        _spark(project, layout, rebuild, also_runner=True) as (spark, schemas),
    ):
        if not _is_current(project, layout, rebuild, _types(schemas)):
            raise UsageError(f"files were edited since {name} was filled; run `headrace rebuild {name}` again")
        if others := _have_read_others(project, layout, rebuild):
            raise UsageError(
                f"what {', '.join(others)} reads was reset or restored since {name} was filled; "
                f"run `headrace rebuild {name}` again"
            )
        _refuse_unfinished_readers(project, layout, rebuild)
        _take_reset_notes(project, layout, rebuild)
        if _refill(spark, project, rebuild, schemas, stopped, everything=True) is not None:
            retired = _swap(project, layout, rebuild, days)
            _print(f"{rebuild.title} swapped; the old is kept in {retired} for {days:g} days")
    return stopped.exit_code


def drop(workspace: Workspace, name: str) -> int:
    """Remove a rebuild."""
    project, layout = workspace.declared, workspace.layout
    rebuild = _left(project, layout, name) or _found(project, layout, name, filled=False)
    with _held(layout, rebuild):
        rebuilds.remove(layout, rebuild)
    _print(f"the rebuild of {rebuild.title} is removed")
    return ExitCode.OK


def diff(workspace: Workspace, name: str, examples: int, as_json: bool) -> int:
    """Compare a model's running table with the rebuilt one, as of the point that the latter has reached."""
    project, layout = workspace.declared, workspace.layout
    rebuild = _found(project, layout, name)
    table = _table(project, name)
    from headrace.spark import session
    from headrace.tables.versions import difference

    with session.start(project.target, layout.spark_log()) as spark:
        found = difference(spark, project, rebuild, table, examples)
    result = _json(table, rebuild, found)
    printing.write_lines([json.dumps(result)] if as_json else _lines(table, rebuild, found))
    return ExitCode.OK


def _wanted(project: Project, layout: Layout, name: str) -> Rebuild:
    """The existing rebuild, or a new one: the query and all queries that depend on it."""
    query = _query(project, name)
    if (known := rebuilds.find(layout, query.name)) is not None:
        return known
    rest = graph.with_readers(project.queries, project.models, {query.name})
    names = (query.name, *(name for name in rest if name != query.name))
    for other in names:
        if (known := rebuilds.find(layout, other)) is not None:
            raise UsageError(f"there is a rebuild of {known.title} already; --swap or --drop it first")
    return Rebuild(names)


def _found(project: Project, layout: Layout, name: str, filled: bool = True) -> Rebuild:
    found = rebuilds.find(layout, _query(project, name).name)
    if found is None or (filled and found.filled_at is None):
        raise UsageError(f"{name} is not rebuilt yet; run `headrace rebuild {name}` to its end first")
    return found


def _left(project: Project, layout: Layout, name: str) -> Rebuild | None:
    """What is left of a rebuild whose removal was interrupted: it has no note any more."""
    left = Rebuild((_query(project, name).name,))
    is_known = rebuilds.find(layout, left.queries[0]) is not None
    return left if not is_known and left.folder(layout).is_dir() else None


def _query(project: Project, name: str) -> Query:
    """The query of a model, or of that name."""
    named = [query for query in project.queries if query.name == name]
    found = named or selection.queries_of(project, selection.select(project, [name]))
    if not found:
        raise UsageError(f"{name} is a view and stores nothing; name a model that reads it")
    if len(found) > 1:
        raise UsageError(f"{name} names several queries: {', '.join(query.name for query in found)}; name one")
    return found[0]


def _table(project: Project, name: str) -> str:
    tables = sorted(selection.select(project, [name]))
    if len(tables) > 1:
        raise UsageError(f"{name} names several models: {', '.join(tables)}; name one")
    return tables[0]


def _members(project: Project, rebuild: Rebuild) -> tuple[Query, ...]:
    return tuple(query for query in project.queries if query.name in rebuild.queries)


def _refuse_unfit(project: Project, layout: Layout, rebuild: Rebuild) -> None:
    """Refuse what cannot be rebuilt: a snapshot, rows that were sent and are not known any more, no stored input."""
    for query in _members(project, rebuild):
        if query.engine == "snapshot":
            raise UsageError(f"{query.name} is a snapshot of what is there now; its past cannot be computed again")
        for model in query.models:
            stored = layout.appended(model.table, model.materialized == "upsert")
            if model.publish is not None and retention.kept_since(stored) is not None:
                raise UsageError(
                    f"{model.table} has lost rows to its `keep`, so a swap could not tell which rows were sent before; "
                    f"`headrace reset {query.name}` begins again and sends none of them"
                )
    for table, path in _sources(project, layout, rebuild):
        if not is_table(path):
            raise UsageError(f"nothing has been stored for {table} yet, so there is nothing to fill from")


def _sources(project: Project, layout: Layout, rebuild: Rebuild) -> Iterator[tuple[str, StorePath]]:
    """The stored tables that a rebuild is filled from."""
    members, known = _members(project, rebuild), graph.by_table(project.models)
    own = {model.table for query in members for model in query.models}
    reads = {read.table for query in members for model in query.models for read in graph.reads(model, known)}
    for table in sorted(reads - own):
        if table.startswith("bronze."):
            yield table, layout.landing(project.topic(table.split(".")[1])[0].name)
        else:
            yield table, layout.appended(table, known[table].materialized == "upsert")


def _tell_what_is_kept(project: Project, layout: Layout, rebuild: Rebuild) -> None:
    """Say from when on the rows are there that a rebuild is made of."""
    for table, path in _sources(project, layout, rebuild):
        if (since := retention.kept_since(path)) is not None:
            is_upsert = path == layout.changes(table)
            kept = "only the newest change of each key from before" if is_upsert else "only rows that arrived after"
            _print(f"{table} has {kept} {since:%Y-%m-%d %H:%M} UTC, by its `keep`")


def _refuse_edited_sources(project: Project, layout: Layout, rebuild: Rebuild, types: Schemas) -> None:
    """Tables that are only read must match the files, or be rebuilt first."""
    known = graph.by_table(project.models)
    models = [model for query in _members(project, rebuild) for model in query.models]
    reads = {read.table for model in models for read in graph.reads(model, known)}
    findings = [
        Finding(entry.first.place, "rebuild-source", f"{entry.name}: {entry.first.message}; rebuild that one first")
        for entry in plan.make(project, layout, types).entries
        if entry.name in reads and entry.query not in rebuild.queries and entry.first is not None
        if entry.verdict in (Verdict.MIX.name, Verdict.RESET.name)
    ]
    if findings:
        raise InvalidProject(findings)


def _refuse_unfinished_readers(project: Project, layout: Layout, rebuild: Rebuild) -> None:
    """A batch that was started on the old tables must be finished on them."""
    from headrace.queries.inputs import InputLog

    own = {model.table for query in _members(project, rebuild) for model in query.models}
    known = graph.by_table(project.models)
    for query in project.queries:
        reads = {read.table for model in query.models for read in graph.reads(model, known)}
        reads |= {test.to for model in query.models for test in model.tests if test.to}
        if query.name in rebuild.queries or query.engine != "micro_batch" or own.isdisjoint(reads):
            continue
        log = InputLog(layout.checkpoint(query.name))
        newest = log.newest()
        if newest is not None and not log.is_finished(newest.batch):
            raise UsageError(f"{query.name} has not ended its last batch; run it once with `run --available-now`")


def _is_current(project: Project, layout: Layout, rebuild: Rebuild, types: Schemas) -> bool:
    """Whether the rebuild was made from the current files."""
    around = rebuilds.beside(layout, rebuild, project.queries)
    entries = [entry for entry in plan.make(project, around, types).entries if entry.query in rebuild.queries]
    return bool(entries) and all(entry.verdict == Verdict.SAME.name for entry in entries)


def _take_reset_notes(project: Project, layout: Layout, rebuild: Rebuild) -> None:
    """Records sent before a reset are still not sent again, also if it came after the rebuild was begun."""
    around = rebuilds.beside(layout, rebuild, project.queries)
    for query in rebuild.queries:
        resets.read_note(layout.checkpoint(query)).write(around.checkpoint(query))


def _have_read_others(project: Project, layout: Layout, rebuild: Rebuild) -> list[str]:
    """The rebuilt queries whose sources have been replaced since: what they have stored is of other rows."""
    from headrace.running import positions

    members = replace(project, queries=_members(project, rebuild))
    return [*positions.have_read_others(members, rebuilds.beside(layout, rebuild, project.queries))]


def _begin(project: Project, layout: Layout, rebuild: Rebuild, types: Schemas) -> None:
    """Resume the rebuild, or start from scratch where it was made from other files or tables, or was being removed."""
    is_there = rebuilds.find(layout, rebuild.queries[0]) is not None
    is_same = is_there and _is_current(project, layout, rebuild, types)
    if not is_same or _have_read_others(project, layout, rebuild):
        rebuilds.remove(layout, rebuild)
        rebuild = Rebuild(rebuild.queries)
        rebuild.write(layout)
        around = rebuilds.beside(layout, rebuild, project.queries)
        declared.write(around, Declared.of(project, types), rebuild.queries, {})
    _take_reset_notes(project, layout, rebuild)


def _refill(
    spark: SparkSession,
    project: Project,
    rebuild: Rebuild,
    schemas: Mapping[str, StructType],
    stopped: Stopped,
    everything: bool = False,
) -> Rebuild | None:
    from headrace.running.refill import Refill

    layout = project.target.layout
    log = event_logger(layout.logs, name="rebuild")
    return Refill(spark, project, rebuild, schemas, log).run(stopped.event, everything)


def _swap(project: Project, layout: Layout, rebuild: Rebuild, days: float) -> str:
    declared.adopt(layout, rebuilds.beside(layout, rebuild, project.queries))
    paths = [path for query in _members(project, rebuild) for path in resets.stored(layout, query)]
    return str(swaps.swap(layout, rebuild.folder(layout), rebuild.queries, paths, days))


@contextmanager
def _held(layout: Layout, rebuild: Rebuild, stop: threading.Event | None = None) -> Iterator[None]:
    """Hold the leases of all queries of a rebuild; `stop` is set if one is lost."""
    with ExitStack() as held:
        for query in sorted(rebuild.queries):
            held.enter_context(lease.exclusive(rebuilding(layout, query), stop))
        yield


def rebuilding(layout: Layout, query: str) -> lease.Work:
    """The work of rebuilding a query."""
    folder = layout.locks / f"rebuild-{query}"
    return lease.Work(folder, f"the rebuild of {query}", f"another process rebuilds {query}")


@contextmanager
def _spark(
    project: Project, layout: Layout, rebuild: Rebuild, also_runner: bool = False
) -> Iterator[tuple[SparkSession, Mapping[str, StructType]]]:
    """Spark, holding the locks of the rebuild and, if `also_runner`, of the live data; and the models' schemas."""
    from headrace.checking import verdict
    from headrace.spark import jvm_lock, session

    with ExitStack() as held:
        spark = held.enter_context(session.start(project.target, layout.spark_log()))
        held.enter_context(jvm_lock.beside_lease(spark, rebuilding(layout, rebuild.queries[0]).folder))
        if also_runner:
            held.enter_context(jvm_lock.beside_lease(spark, layout.locks))
        yield spark, verdict.schemas(spark, project)


def _types(schemas: Mapping[str, StructType]) -> Schemas:
    from headrace.checking import verdict

    return verdict.types(schemas)


def _json(table: str, rebuild: Rebuild, found: Difference) -> dict[str, Any]:
    return {"model": table, "filled_at": rebuild.filled_at, "same": found.is_none, **asdict(found)}


def _lines(table: str, rebuild: Rebuild, found: Difference) -> Iterator[str]:
    yield f"{table}: {found.rows_running} rows running, {found.rows_beside} beside, filled at {rebuild.filled_at}"
    yield from differences.lines(found, "running", "beside")


def _print(text: str) -> None:
    print(f"headrace: {text}", file=sys.stderr)
