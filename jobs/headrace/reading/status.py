"""The runner's latest status, and whether it is still alive."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cache
from typing import Literal

import psutil
from pydantic import TypeAdapter

from headrace.project.model import Project
from headrace.project.skips import Skip
from headrace.store import durable, json_files
from headrace.store.layout import Layout
from headrace.store.paths import StorePath

QueryKind = Literal["landing", "micro_batch", "streaming", "snapshot", "publisher"]
QueryState = Literal["starting", "running", "waiting", "backing_off", "failed", "stopped", "died"]
RunnerState = Literal["starting", "running", "stopping", "failed", "stopped", "died"]

FINISHED = ("failed", "stopped", "died")
"""States that a query or runner does not leave by itself."""

_SILENCE = 60.0
"""News from another machine that are older by this machine's clock, in seconds, may be the last of their runner."""

LISTEN_SECONDS = 10.0
"""How long such a runner is listened to: it leaves news every five, and its clock may be set otherwise."""

_POLL_SECONDS = 1.0

_CLOCK_SLACK = 2.0
"""Seconds by which a process may seem younger than the news that it has written itself."""


@dataclass(frozen=True)
class QueryStatus:
    """One query: `batch` is the last one done, `rows` those of this run, `behind_by` those it has not taken yet.

    `pause` is how many seconds a landing waits from one batch to the next at its current rate.
    `held_by` is the stream whose event time holds the watermark back, `held_for` for how many seconds it has not moved.
    """

    name: str
    kind: QueryKind
    state: QueryState = "starting"
    batch: int | None = None
    rows: int = 0
    rows_per_second: float = 0.0
    behind_by: int | None = None
    watermark: datetime | None = None
    state_rows: int | None = None
    late: int = 0
    rejected: int = 0
    restarts: int = 0
    last_error: str | None = None
    held_by: str | None = None
    held_for: float | None = None
    pause: float | None = None
    failed: Mapping[str, int] = field(default_factory=dict)
    """Rows that failed each data test in this run."""


@dataclass(frozen=True)
class TableStatus:
    """A stored table after its last maintenance: its files and their bytes, and the versions that its log still has."""

    table: str
    at: datetime
    files: int
    bytes: int
    horizon: int
    newest: int


@dataclass(frozen=True)
class RunnerStatus:
    """The process that runs a project for a target; without `pid` it never started."""

    name: str
    target: str
    pid: int | None = None
    started_at: datetime | None = None
    state: RunnerState = "stopped"


@dataclass(frozen=True)
class ProjectStatus:
    """The runner and its queries at one moment; its JSON is the status file and `status --json`."""

    project: RunnerStatus
    at: datetime | None = None
    queries: tuple[QueryStatus, ...] = ()
    tables: tuple[TableStatus, ...] = ()
    skipped: tuple[Skip, ...] = ()
    """Only the command says them: each query is looked at."""

    def to_json(self) -> str:
        return _adapter().dump_json(self).decode()

    @staticmethod
    def from_json(text: str | bytes) -> ProjectStatus:
        return _adapter().validate_json(text)


def read_status(project: Project, layout: Layout) -> ProjectStatus:
    """Return the project's status: that of its status file, unless the process that wrote it has ended.

    Of a runner on another machine it is what that one has last left on the store. Where that seems old, it is looked at
    for `LISTEN_SECONDS`: clocks of machines are not compared to find out whether a runner is alive.
    """
    return replace(_of_runner(project, layout), tables=read_tables(layout))


def read_tables(layout: Layout) -> tuple[TableStatus, ...]:
    """Return how large each table was after its last maintenance; tables that never had any are left out."""
    try:
        data = layout.maintenance.read_bytes()
    except FileNotFoundError:
        return ()
    with json_files.whole(layout.maintenance, data, "remove it: the next maintenance writes it again"):
        return _tables_adapter().validate_json(data)


def write_tables(layout: Layout, tables: Iterable[TableStatus]) -> None:
    """Note how large some tables are now."""
    known = {each.table: each for each in read_tables(layout)} | {each.table: each for each in tables}
    durable.write(layout.maintenance, _tables_adapter().dump_json(tuple(known.values())).decode())


def _of_runner(project: Project, layout: Layout) -> ProjectStatus:
    here = _read(layout.status)
    if here is not None and here.project.state not in FINISHED and _alive(here):
        return here
    shared = None if layout.shared_status is None else _read(layout.shared_status)
    if layout.shared_status is not None and shared is not None and not _is_same_run(here, shared):
        return _heard(layout.shared_status, shared)
    if here is None:
        return ProjectStatus(RunnerStatus(project.name, project.target.name))
    return here if here.project.state in FINISHED else _died(here)


def _read(file: StorePath) -> ProjectStatus | None:
    try:
        data = file.read_bytes()
    except FileNotFoundError:
        return None
    with json_files.whole(file, data, "remove it: a runner writes it again"):
        return ProjectStatus.from_json(data)


def _is_same_run(here: ProjectStatus | None, shared: ProjectStatus) -> bool:
    """Whether what is on the store comes from the last run on this machine, which knows it better; else it is newer."""
    known = here and (here.project.pid, here.project.started_at)
    return known == (shared.project.pid, shared.project.started_at)


def _heard(file: StorePath, status: ProjectStatus) -> ProjectStatus:
    """The status of a runner on another machine, which has died if it leaves no more news."""
    if status.project.state in FINISHED or _is_recent(status):
        return status
    deadline = time.monotonic() + LISTEN_SECONDS
    while time.monotonic() < deadline:
        time.sleep(_POLL_SECONDS)
        if (news := _read(file)) is not None and news.at != status.at:
            return news
    return _died(status)


def _is_recent(status: ProjectStatus) -> bool:
    return status.at is not None and abs(time.time() - status.at.timestamp()) < _SILENCE


def _died(status: ProjectStatus) -> ProjectStatus:
    queries = (query if query.state in FINISHED else replace(query, state="died") for query in status.queries)
    return replace(status, project=replace(status.project, state="died"), queries=tuple(queries))


def _alive(status: ProjectStatus) -> bool:
    """Whether the process still runs, and is not another one with the same pid, which began after the last news.

    When it began is known by the clock as it is set now, so only what was written lately can be compared with that.
    """
    if status.project.pid is None or status.at is None:
        return False
    try:
        process = psutil.Process(status.project.pid)
        young = process.create_time() > status.at.timestamp() + _CLOCK_SLACK
        return not young and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@cache
def _tables_adapter() -> TypeAdapter[tuple[TableStatus, ...]]:
    return TypeAdapter(tuple[TableStatus, ...])


@cache
def _adapter() -> TypeAdapter[ProjectStatus]:
    return TypeAdapter(ProjectStatus)
