"""Commands that maintain the environment and the stored data: setup, doctor, broker, reset."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.text import Text

from headrace.commands import rehearsal
from headrace.commands.workspace import Workspace
from headrace.environment import classes, jars
from headrace.environment.broker import Broker, BrokerState
from headrace.environment.doctor import Check, Facts, diagnose
from headrace.errors import ExitCode, HeadraceError
from headrace.reading import printing


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
    kafka = target.kafka
    checks = diagnose(
        Facts(target.data_dir, kafka.bootstrap, kafka.options, target.broker_of, _jar_sets(workspace), target.store)
    )
    if as_json:
        printing.write_lines(json.dumps(asdict(check)) for check in checks)
    else:
        for check in checks:
            Console().print(_line(check), soft_wrap=True)
    return ExitCode.ENVIRONMENT if any(check.ok is False for check in checks) else ExitCode.OK


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


def _line(check: Check) -> Text:
    sign, style = {True: ("ok  ", "green"), False: ("bad ", "red"), None: ("note", "yellow")}[check.ok]
    text = Text.assemble((sign, style), f" {check.name}: {check.detail}")
    return text.append(f"{'' if check.detail.endswith('.') else '.'} {check.fix}", "bold") if check.fix else text


def _state_line(state: BrokerState) -> str:
    return f"{state.state}: {state.bootstrap} (pid {state.pid})" if state.pid else state.state
