"""What the runner last said of itself."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

import psutil
import pytest

from headrace.errors import TornFile
from headrace.reading import status as module
from headrace.reading.status import ProjectStatus, QueryStatus, RunnerStatus, read_status
from headrace.store import durable
from headrace.store.layout import Layout
from headrace.store.paths import path_of

if TYPE_CHECKING:
    from tests.unit.conftest import Store

STARTED = datetime.fromtimestamp(psutil.Process().create_time(), timezone.utc)
QUERIES = (
    QueryStatus("shipping", "micro_batch", "running", 7, 120, 3.5, 2, STARTED, 10, 1, 2, 3),
    QueryStatus("sales", "streaming", "failed", last_error="boom"),
)
RUNNING = ProjectStatus(RunnerStatus("demo", "local", os.getpid(), STARTED, "running"), STARTED, QUERIES)


def read_back(store: Store, status: ProjectStatus) -> ProjectStatus:
    store.layout.status.write_text(status.to_json())
    return read_status(store.project, store.layout)


def test_json_round_trip() -> None:
    assert ProjectStatus.from_json(RUNNING.to_json()) == RUNNING


def test_json_has_the_promised_names() -> None:
    found = json.loads(RUNNING.to_json())
    assert {"pid", "started_at", "state", "name", "target"} <= found["project"].keys()
    assert {
        *("name", "state", "batch", "rows_per_second", "behind_by"),
        *("watermark", "late", "rejected", "restarts", "last_error"),
    } <= found["queries"][0].keys()


def test_times_are_iso_in_json() -> None:
    written = json.loads(RUNNING.to_json())["queries"][0]["watermark"]
    assert datetime.fromisoformat(written.replace("Z", "+00:00")) == STARTED


def test_never_started_is_stopped(store: Store) -> None:
    status = read_status(store.project, store.layout)
    assert (status.project.state, status.project.pid, status.queries) == ("stopped", None, ())


def test_living_runner_is_as_it_says(store: Store) -> None:
    assert read_back(store, RUNNING) == RUNNING


def test_dead_runner_has_died(store: Store) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    status = read_back(store, replace(RUNNING, project=replace(RUNNING.project, pid=gone.pid)))
    assert (status.project.state, [query.state for query in status.queries]) == ("died", ["died", "failed"])


def test_zombie_has_died(store: Store) -> None:
    zombie = subprocess.Popen([sys.executable, "-c", ""])
    os.waitid(os.P_PID, zombie.pid, os.WEXITED | os.WNOWAIT)
    status = read_back(store, replace(RUNNING, project=replace(RUNNING.project, pid=zombie.pid, started_at=_now())))
    zombie.wait()
    assert status.project.state == "died"


def test_reused_process_id_has_died(store: Store) -> None:
    earlier = STARTED - timedelta(hours=1)
    status = replace(RUNNING, at=earlier, project=replace(RUNNING.project, started_at=earlier))
    assert read_back(store, status).project.state == "died"


def test_runner_that_began_before_the_clock_was_set_ahead_is_alive(store: Store) -> None:
    """The time at which a process began moves with the clock."""
    before = replace(RUNNING, project=replace(RUNNING.project, started_at=STARTED - timedelta(days=1)))
    assert read_back(store, before) == before


def test_stopped_runner_stays_stopped(store: Store) -> None:
    stopped = replace(RUNNING, project=replace(RUNNING.project, state="stopped", started_at=STARTED - timedelta(1)))
    assert read_back(store, stopped).project.state == "stopped"


@pytest.mark.parametrize("text", ["", "{", "[]", '{"project": {"name": 1}}'])
def test_foreign_status_file_is_reported(store: Store, text: str) -> None:
    store.layout.status.write_text(text)
    with pytest.raises(TornFile):
        read_status(store.project, store.layout)


def _now() -> datetime:
    return datetime.now(timezone.utc)


ELSEWHERE = replace(RUNNING, project=replace(RUNNING.project, pid=1))
"""A runner on another machine."""


def leave(layout: Layout, status: ProjectStatus, seconds: float) -> None:
    """Leave news on the store that are so old by the clock of this machine."""
    assert layout.shared_status is not None
    at = datetime.now(timezone.utc) - timedelta(seconds=seconds)
    durable.write(layout.shared_status, replace(status, at=at).to_json())


def shared(store: Store, seconds: float) -> ProjectStatus:
    """What a runner on another machine has left on the store so long ago, as it is read here."""
    layout = Layout(store.layout.data_dir, path_of("memory:///"))
    leave(layout, ELSEWHERE, seconds)
    return read_status(store.project, layout)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LISTEN_SECONDS", 0.1)
    monkeypatch.setattr(module, "_POLL_SECONDS", 0.02)


@pytest.mark.parametrize(("seconds", "state"), [(6, "running"), (600, "died"), (-86_400, "died")])
def test_runner_on_another_machine_is_known_by_its_store(
    store: Store, seconds: float, state: str, impatient: None
) -> None:
    assert shared(store, seconds).project.state == state


@pytest.mark.parametrize("apart", [600.0, -600.0])
def test_runner_whose_clock_is_set_otherwise_is_alive(
    store: Store, apart: float, impatient: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    layout = Layout(store.layout.data_dir, path_of("memory:///"))
    leave(layout, ELSEWHERE, apart)
    monkeypatch.setattr(module.time, "sleep", lambda seconds: leave(layout, ELSEWHERE, apart - seconds))
    assert read_status(store.project, layout).project.state == "running"


@pytest.mark.parametrize("apart", [600.0, -600.0])
def test_end_on_this_machine_does_not_hide_the_runner_that_took_over(
    store: Store, apart: float, impatient: None
) -> None:
    """Whatever their clocks say, the store has the news of the newer one."""
    ended = replace(RUNNING.project, state="stopped")
    store.layout.status.write_text(replace(RUNNING, project=ended, at=_now() + timedelta(seconds=apart)).to_json())
    assert shared(store, 6).project == ELSEWHERE.project


def test_last_word_of_a_run_on_this_machine_is_its_own(store: Store) -> None:
    """It is written last here, where the store may not be reached any more."""
    layout = Layout(store.layout.data_dir, path_of("memory:///"))
    leave(layout, RUNNING, 6)
    ended = replace(RUNNING, project=replace(RUNNING.project, state="stopped"))
    layout.status.write_text(ended.to_json())
    assert read_status(store.project, layout) == ended


def test_old_status_of_this_machine_does_not_hide_a_newer_one(store: Store) -> None:
    gone = replace(RUNNING, project=replace(RUNNING.project, pid=None), at=STARTED - timedelta(days=1))
    store.layout.status.write_text(gone.to_json())
    assert shared(store, 6).project.state == "running"
