"""The command that maintains stored tables by hand; a runner does it by itself."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict

from headrace.commands.workspace import Workspace
from headrace.errors import ExitCode, UsageError, did_you_mean
from headrace.logs import event_logger
from headrace.project.model import Project
from headrace.reading import printing
from headrace.store import lease
from headrace.store.layout import Layout
from headrace.store.maintenance import Upkeep
from headrace.store.paths import StorePath


def maintain(workspace: Workspace, table: str | None, as_json: bool) -> int:
    """Maintain all tables, or one, as far as there is anything to do; no runner may run."""
    from headrace.running.log_readers import bounds
    from headrace.running.upkeep import TableUpkeep, tables

    layout = workspace.layout
    known = [name for name, _, _ in tables(workspace.declared, layout)]
    if table is not None and table not in known:
        raise UsageError(f"no stored table {table}; there are {', '.join(known)}.{did_you_mean(table, known)}")
    with lease.held(layout), workspace.with_broker() as project:
        needed = bounds(project, layout, _sent(project, layout))
        upkeep = TableUpkeep(project, layout, lambda: needed, event_logger(layout.logs))
        done = upkeep.round(worth=1, chosen=table)
    printing.write_lines(_json(done) if as_json else _lines(done))
    return ExitCode.OK


def _sent(project: Project, layout: Layout) -> Mapping[StorePath, int]:
    """How far each published table has been sent."""
    from headrace.publishing.outstanding import sent_until

    models = [model for model in project.models if model.publish is not None]
    return {
        layout.appended(model.table, model.materialized == "upsert"): sent_until(project, layout, model)
        for model in models
    }


def _json(done: Mapping[str, Upkeep]) -> Iterator[str]:
    return (json.dumps({"table": name, **asdict(found)}) for name, found in done.items())


def _lines(done: Mapping[str, Upkeep]) -> Iterator[str]:
    for name, found in done.items():
        now = f"{found.files} files, {found.bytes:,} bytes, log from version {found.horizon} to {found.newest}"
        yield f"{name}: {found.commits} commits noted, {found.compacted} files made one, {found.removed} removed; {now}"
    if not done:
        yield "nothing to do"
