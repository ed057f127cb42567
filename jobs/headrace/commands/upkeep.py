"""Commands that maintain the environment and the stored data: setup, doctor, broker, maintain, reset."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.text import Text

from headrace.commands import rehearsal
from headrace.commands.workspace import Workspace
from headrace.environment import classes, jars
from headrace.environment.broker import Broker, BrokerState
from headrace.environment.doctor import Check, Facts, diagnose
from headrace.errors import EnvironmentFault, ExitCode, HeadraceError, UsageError, did_you_mean
from headrace.logs import event_logger
from headrace.project.kafka_options.topic_names import progress_topic
from headrace.project.model import Project
from headrace.reading import printing
from headrace.store import lease
from headrace.store.layout import Layout
from headrace.store.maintenance.passes import Upkeep
from headrace.store.paths import StorePath


def setup(workspace: Workspace) -> int:
    """Fetch what is missing, and record the classes of our JVMs once."""
    found = jars.resolve_all(_jar_sets(workspace))
    print(f"{len(found)} jars are there", file=sys.stderr)
    if not all(archive.path().exists() for archive in classes.ARCHIVES):
        print("Recording the classes of Spark's JVM and the broker's, once, so that they start faster", file=sys.stderr)
        if trouble := rehearsal.record_classes():
            print(f"They could not be recorded; starts take some seconds longer: {trouble}", file=sys.stderr)
    return ExitCode.OK


def _jar_sets(workspace: Workspace) -> tuple[jars.SetName, ...]:
    """The jars that the target needs; where there is none that can be read, those that all need."""
    try:
        place = workspace.declared.target.place
    except HeadraceError:
        return jars.ALWAYS
    return jars.ALWAYS if place is None else (*jars.ALWAYS, *place.jars)


def doctor(workspace: Workspace, as_json: bool) -> int:
    """Check everything that headrace needs of its environment."""
    target = workspace.declared.target
    kafka, ahead = target.kafka, _ahead(workspace.declared)
    found = (target.data_dir, kafka.bootstrap, kafka.options, target.broker_of, _jar_sets(workspace), target.store)
    checks = diagnose(Facts(*found, ahead, progress_topic(target)))
    if as_json:
        printing.write_lines(json.dumps(asdict(check)) for check in checks)
    else:
        for check in checks:
            Console().print(_line(check), soft_wrap=True)
    return ExitCode.ENVIRONMENT if any(check.ok is False for check in checks) else ExitCode.OK


def _ahead(project: Project) -> tuple[str, ...]:
    """The positions that are ahead of what exists; none where the store cannot be asked, which is found otherwise."""
    from headrace.running import positions

    try:
        return tuple(finding.message for finding in positions.findings(project, project.target.layout))
    except EnvironmentFault:
        return ()


def broker(workspace: Workspace, verb: str, data: Path | None, as_json: bool) -> int:
    """Start or stop the embedded broker, or show its state."""
    found = Broker(data) if data is not None else workspace.broker
    state = {"start": lambda: found.start(daemon=True), "stop": found.stop, "status": found.status}[verb]()
    print(json.dumps(asdict(state)) if as_json else _state_line(state))
    return ExitCode.OK


def reset(workspace: Workspace, query: str, yes: bool, start: str | None, republish: bool) -> int:
    """Remove a query's progress and output."""
    from headrace.commands.edits import resetting

    return resetting.reset(workspace, query, yes, start, republish)


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
    printing.write_lines(_tables_json(done) if as_json else _table_lines(done))
    return ExitCode.OK


def _line(check: Check) -> Text:
    sign, style = {True: ("ok  ", "green"), False: ("bad ", "red"), None: ("note", "yellow")}[check.ok]
    text = Text.assemble((sign, style), f" {check.name}: {check.detail}")
    return text.append(f"{'' if check.detail.endswith('.') else '.'} {check.fix}", "bold") if check.fix else text


def _state_line(state: BrokerState) -> str:
    return f"{state.state}: {state.bootstrap} (pid {state.pid})" if state.pid else state.state


def _sent(project: Project, layout: Layout) -> Mapping[StorePath, int]:
    """How far each published table has been sent."""
    from headrace.publishing.outstanding import sent_until

    models = [model for model in project.models if model.publish is not None]
    return {
        layout.appended(model.table, model.materialized == "upsert"): sent_until(project, layout, model)
        for model in models
    }


def _tables_json(done: Mapping[str, Upkeep]) -> Iterator[str]:
    return (json.dumps({"table": name, **asdict(found)}) for name, found in done.items())


def _table_lines(done: Mapping[str, Upkeep]) -> Iterator[str]:
    for name, found in done.items():
        now = f"{found.files} files, {found.bytes:,} bytes, log from version {found.horizon} to {found.newest}"
        left = f", {found.retired} left by `keep`" if found.retired else ""
        left += f", {found.drafts} left by killed runs" if found.drafts else ""
        files = f"{found.compacted} files made one, {found.removed} removed{left}"
        yield f"{name}: {found.commits} commits noted, {files}; {now}"
    if not done:
        yield "nothing to do"
