"""The demo: a broker, the runner, made-up events, and the rows that they produce."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from rich.console import Console

from headrace.commands.running import Stopped, run_project, stop_on_signals
from headrace.commands.workspace import Workspace
from headrace.demo.records import fresh_run_id
from headrace.demo.script import Script, script
from headrace.demo.sending import send
from headrace.errors import HeadraceError, UsageError
from headrace.logs import event_logger
from headrace.project import selection
from headrace.project.model import Project
from headrace.reading.dashboard import Arrival
from headrace.reading.live_status import watch
from headrace.reading.rows import Row
from headrace.reading.tail import Until, tail_topic, topic_line
from headrace.reading.topics import declared, ensure
from headrace.store import lease

if TYPE_CHECKING:
    from headrace.running.runner import Run

TOPICS = ("shipping", "notifications-events-v1")
PATIENCE_SECONDS = 300.0
SHOWN = 200
DOMAINS = ("shipping", "sales")
"""The systems that the story is about."""


class Demo:
    """One run of the demo's story, and the records that it has produced so far."""

    def __init__(self, project: Project, console: Console) -> None:
        self._project = project
        self._console = console
        self._story: Script = script(fresh_run_id(), datetime.now(timezone.utc))
        self._arrivals: list[Arrival] = []
        self._records: list[Row] = []
        self._over = threading.Event()

    def play(self, running: Run, stopped: Stopped) -> None:
        """Send the events and show the output: live on a terminal until Ctrl-C, else until it is complete."""
        with self._listening():
            send(self._project.target.kafka, self._story.records, rate=None if not self._live else 4.0)
            if self._live:
                watch(self._console, running.status, lambda: self._arrivals[-SHOWN:], stopped.event.wait)
            else:
                self._await(running, stopped)
        stopped.event.set()

    def show(self) -> None:
        """Print the rows of both outputs."""
        for topic in TOPICS:
            print(f"topic {topic}")
            for record in self._records:
                if record["topic"] == self._project.target.kafka.named(topic):
                    print(f"  {topic_line(record)}")

    @property
    def _live(self) -> bool:
        return self._console.is_terminal

    @property
    def _complete(self) -> bool:
        expected = len(self._story.shipped) + len(self._story.notifications)
        return len(self._records) >= expected

    def _await(self, running: Run, stopped: Stopped) -> None:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not self._complete and not stopped.event.wait(0.2):
            if running.supervisor.failures or time.monotonic() > deadline:
                raise HeadraceError(f"only {len(self._records)} rows have come; see the log and `headrace status`")

    @contextmanager
    def _listening(self) -> Iterator[None]:
        threads = [threading.Thread(target=self._collect, args=(topic,), daemon=True) for topic in TOPICS]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self._over.set()
            for thread in threads:
                thread.join(10)

    def _collect(self, topic: str) -> None:
        keys = {record.key for record in self._story.records}
        for record in tail_topic(self._project.target.kafka, topic, until=Until(stopped=self._over.is_set)):
            if record["key"] in keys:
                self._records.append(record)
                self._arrivals.append(Arrival(datetime.now(timezone.utc), topic, topic_line(record)))


def demo(workspace: Workspace) -> int:
    """Run the demo: it ends by itself unless it is shown on a terminal."""
    _refuse_others(workspace.declared)
    console = Console()
    layout = workspace.layout
    log = event_logger(layout.logs, quiet=console.is_terminal)
    with (
        stop_on_signals() as stopped,
        lease.held(layout, stopped.event) as held,
        workspace.with_broker() as project,
    ):
        _create(project)
        playing = Demo(project, console)
        code = run_project(selection.narrowed(project, DOMAINS, ()), {}, stopped, held, log, playing.play)
    if code in (0, 130):
        playing.show()
        _show_tables(workspace)
    return 0 if code == 130 else code


def _refuse_others(project: Project) -> None:
    """The made-up events are those of the demo's own systems; no other project gets their topics."""
    if missing := {*DOMAINS} - {model.domain for model in project.models}:
        systems = " and ".join(sorted(missing))
        raise UsageError(f"the demo runs the systems of headrace's own project; {project.name} has no {systems}")


def _create(project: Project) -> None:
    ensure(project.target.kafka, {**declared(project), **dict.fromkeys(map(project.target.kafka.named, TOPICS), 1)})


def _show_tables(
    workspace: Workspace, tables: Sequence[str] = ("gold.shipment_ready", "gold.sales_notifications")
) -> None:
    from headrace.commands.inspecting import show
    from headrace.reading.show import Wanted

    for table in tables:
        print(f"\ntable {table}", flush=True)
        show(workspace, table, Wanted(), on_spark=False, as_json=False)
