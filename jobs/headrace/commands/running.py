"""Commands that run a project: run and demo."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from types import FrameType
from typing import TYPE_CHECKING, Any, Literal

from headrace.catalogue import artifacts
from headrace.commands.edits import planning
from headrace.commands.workspace import Workspace
from headrace.environment import owner, swap
from headrace.errors import ExitCode, HeadraceError
from headrace.logs import Attempt, event_logger
from headrace.project import resets, selection
from headrace.project.model import Project
from headrace.reading import topics
from headrace.reading.status import ProjectStatus, RunnerState
from headrace.store import lease
from headrace.store.lease import Lease
from headrace.store.paths import check
from headrace.write_errors import naming

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from headrace.planning.declared import Schemas
    from headrace.running.runner import Run
    from headrace.running.supervisor import Failure

STATUS_SECONDS = 1.0
SAME_WISH_SECONDS = 1.0
"""Signals within this time of each other are one request to stop."""

During = Callable[["Run", "Stopped"], None]
"""Work to do while a project runs; called once everything has started."""


def run(
    workspace: Workspace,
    select: tuple[str, ...],
    exclude: tuple[str, ...],
    options: dict[str, bool],
    accept_mix: str | None = None,
    rebuild: bool = False,
    standby: bool = False,
) -> int:
    """Run what is selected until asked to stop; the exit code shows whether a query failed."""
    project = workspace.declared
    check(project.target.layout.root)
    layout = workspace.layout
    if select or exclude:
        project = selection.narrowed(project, select, exclude)
    if standby:  # what would be refused is refused now, and not at the take-over
        planning.accepted(project, layout, accept_mix, rebuild)
    with stop_on_signals() as stopped:
        with suppress(KeyboardInterrupt), lease.held(layout, stopped.event, standby) as held:
            return _run_alone(workspace, project, options, stopped, held, accept_mix, rebuild)
        return stopped.exit_code


def _run_alone(
    workspace: Workspace,
    project: Project,
    options: dict[str, bool],
    stopped: Stopped,
    held: Lease,
    accept_mix: str | None,
    rebuild: bool,
) -> int:
    """Run a project whose lease is held; what is stored may have changed while it was waited for."""
    layout = project.target.layout
    swap.finish(layout)
    resets.finish(layout)
    mixes = planning.accepted(project, layout, accept_mix, rebuild)
    with workspace.with_broker() as connected:
        project = replace(project, target=connected.target)
        topics.existing(project.target.kafka)  # before a JVM is started, which takes seconds
        log = event_logger(layout.logs)
        if rebuild:
            _reset(project, accept_mix is None, log)
        decide = partial(_decided, project, accept_mix, rebuild, log)
        known, is_open = {**options, "accepted": mixes}, planning.is_undecided(project, layout)
        return run_project(project, known, stopped, held, log, decide=decide if is_open else None)


def _decided(
    project: Project, accept_mix: str | None, rebuild: bool, log: Callable[..., None], spark: SparkSession
) -> planning.Mixes:
    """Let Spark say what the plan has left to it; then refuse or reset what cannot go on, before anything is opened."""
    from headrace.checking import verdict

    types = verdict.types(verdict.schemas(spark, project))
    mixes = planning.accepted(project, project.target.layout, accept_mix, rebuild, types)
    if rebuild:
        _reset(project, accept_mix is None, log, types)
    return mixes


def _reset(project: Project, with_mixes: bool, log: Callable[..., None], types: Schemas | None = None) -> None:
    for query in planning.rebuild(project, project.target.layout, with_mixes, types):
        log("reset", query=query, cause="its edited text cannot go on with what was stored")


def run_project(
    project: Project,
    options: Mapping[str, Any],
    stopped: Stopped,
    held: Lease,
    log: Callable[..., None],
    during: During | None = None,
    decide: Callable[[SparkSession], planning.Mixes] | None = None,
) -> int:
    """Run a project whose broker is up, in this process; `decide` returns the accepted mixes once Spark is up."""
    from headrace.running.runner import Options, Run
    from headrace.spark import jvm_lock, session

    layout, began = project.target.layout, time.monotonic()
    owner.claim(layout, project.name)
    with naming(layout.data_dir):
        artifacts.write(layout.artifacts, "manifest.json", artifacts.manifest(project))
    log("starting", project=project.name, target=project.target.name, kafka=project.target.kafka.bootstrap)
    with (
        naming(layout.data_dir),
        session.running(project.target, layout.spark_log()) as spark,
        jvm_lock.beside_lease(spark, layout.locks),
    ):
        mixes = {"accepted": decide(spark)} if decide is not None else {}
        running = Run(spark, project, Options(**{**options, **mixes}), log)
        running.prepare()
        running.start()
        log("started", queries=len(running.supervisor.members))
        failures = _wait_for_end(running, stopped, held, log, during)
        Attempt(_record, layout.artifacts, log)(project, running.status(), time.monotonic() - began)
    for failure in failures:
        log("failed", query=failure.task, cause=failure.cause)
    log("stopped")
    return ExitCode.FAILED if failures else stopped.exit_code  # failures are reported even if the run was stopped


def _wait_for_end(
    running: Run, stopped: Stopped, held: Lease, log: Callable[..., None], during: During | None
) -> tuple[Failure, ...]:
    """Write the status of a run until its end; a full disk affects only `headrace status`, not the run.

    Other machines do not learn it of a runner that another one may have replaced: they would read it as that one's.
    """

    def write(state: RunnerState = "running") -> None:
        running.write_status(state, is_shared=held.is_held)

    write_status = Attempt(write, running.layout.status, log)
    try:
        with _writing_status(write_status):
            if during is not None:
                during(running, stopped)
            failures = running.wait(stopped.event)
    except HeadraceError:
        write_status("failed")
        raise
    write_status("failed" if failures else "stopped")
    return failures


def _record(project: Project, final: ProjectStatus, seconds: float) -> None:
    """Write run_results.json: the outcome of each model's query."""
    queries = {query.name: query for query in final.queries}
    results = []
    for model in project.models:
        if (query := queries.get(model.query or "")) is not None:
            status: Literal["error", "success"] = "error" if query.state in ("failed", "died") else "success"
            unique_id = artifacts.model_id(project, model)
            results.append(artifacts.Result(unique_id, status, seconds, query.rows, query.last_error))
    folder = project.target.layout.artifacts
    artifacts.write(folder, "run_results.json", artifacts.run_results(results, seconds))


class Stopped:
    """Whether a signal has asked for an end, and which exit code that means."""

    def __init__(self) -> None:
        self.event = threading.Event()
        self.exit_code: int = ExitCode.OK
        self.asked_at = 0.0

    def ask(self, number: int) -> bool:
        """Ask for an end; whether that is another wish than the one before.

        systemd sends its signal to all processes of a service, and the JVM of spark-submit passes it on once more.
        """
        before, self.asked_at = self.asked_at, time.monotonic()
        if self.event.is_set():
            return self.asked_at - before > SAME_WISH_SECONDS
        self.exit_code = 128 + number
        self.event.set()
        return False


@contextmanager
def stop_on_signals() -> Iterator[Stopped]:
    """Turn SIGTERM and Ctrl-C into a request to stop; a second one ends at once."""
    stopped = Stopped()

    def ask(number: int, _: FrameType | None) -> None:
        if stopped.ask(number):
            os._exit(128 + number)

    former = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stopped
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)


@contextmanager
def _writing_status(write: Callable[[], None]) -> Iterator[None]:
    """Write the status file every second while the block runs."""
    over = threading.Event()

    def write_repeatedly() -> None:
        while not over.wait(STATUS_SECONDS):
            write()

    write()
    thread = threading.Thread(target=write_repeatedly, name="status", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
