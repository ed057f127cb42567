"""Commands that run a project: run and demo."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import FrameType
from typing import TYPE_CHECKING

from headrace.commands.workspace import Workspace
from headrace.environment.lock import runner_lock
from headrace.errors import ExitCode
from headrace.layout import Layout
from headrace.logs import speaker
from headrace.project import selection
from headrace.project.model import Project

if TYPE_CHECKING:
    from headrace.engine.runner import Run

STATUS_SECONDS = 1.0

During = Callable[["Run", "Stopped"], None]
"""What else happens while a project runs; called once everything has started."""


def run(workspace: Workspace, select: tuple[str, ...], exclude: tuple[str, ...], options: dict[str, bool]) -> int:
    """Run what is selected until told to stop; the exit code tells whether a query failed."""
    project = workspace.declared
    if select or exclude:
        project = selection.narrowed(project, select, exclude)
    say = speaker(workspace.layout.logs)
    with runner_lock(workspace.layout.locks), stop_on_signals() as stopped, workspace.with_broker() as connected:
        return run_project(replace(project, target=connected.target), options, stopped, say)


def run_project(
    project: Project, options: dict[str, bool], stopped: Stopped, say: Callable[..., None], during: During | None = None
) -> int:
    """Run a project whose broker is up, in this process."""
    from headrace.engine import jvm_lock, session
    from headrace.engine.runner import Options, Run

    layout = Layout(project.target.data_dir)
    say("starting", project=project.name, target=project.target.name, kafka=project.target.kafka.bootstrap)
    with session.start(project.target, layout.spark_log()) as spark, jvm_lock.held(spark, layout.locks):
        running = Run(spark, project, Options(**options), say)
        running.prepare()
        running.start()
        say("started", queries=len(running.supervisor.members))
        with _telling(running):
            if during is not None:
                during(running, stopped)
            failures = running.wait(stopped.event)
        running.write_status("failed" if failures else "stopped")
    for failure in failures:
        say("failed", query=failure.task, cause=failure.cause)
    say("stopped")
    return stopped.exit_code or (ExitCode.FAILED if failures else ExitCode.OK)


class Stopped:
    """Whether a signal has asked for an end, and which exit code that means."""

    def __init__(self) -> None:
        self.event = threading.Event()
        self.exit_code = 0


@contextmanager
def stop_on_signals() -> Iterator[Stopped]:
    """Turn SIGTERM and Ctrl-C into a request to stop; a second one ends at once."""
    stopped = Stopped()

    def ask(number: int, _: FrameType | None) -> None:
        if stopped.event.is_set():
            os._exit(128 + number)
        stopped.exit_code = 128 + number
        stopped.event.set()

    former = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stopped
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)


@contextmanager
def _telling(running: Run) -> Iterator[None]:
    """Write the status file every second while the block runs."""
    over = threading.Event()

    def tell() -> None:
        while not over.wait(STATUS_SECONDS):
            running.write_status()

    running.write_status()
    thread = threading.Thread(target=tell, name="status", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
