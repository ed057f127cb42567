"""What a run leaves word of, also where a disk does not take it."""

from __future__ import annotations

import errno
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest

from headrace import cli
from headrace.commands import running
from headrace.errors import ExitCode
from headrace.project.declarations.targets.references import BOOTSTRAP_VARIABLE
from headrace.store.layout import Layout
from tests.unit.conftest import ProjectFiles
from tests.waiting import wait_for

DISK_FULL = OSError(errno.ENOSPC, "No space left on device")


@dataclass
class FakeRun:
    """A run whose status file can be written or not, and that ends once it has been written so often."""

    layout: Layout
    until: int = 1
    full: bool = False
    states: list[str] = field(default_factory=list)
    shared: list[bool] = field(default_factory=list)
    tries: int = 0

    def write_status(self, state: str = "running", is_shared: bool = True) -> None:
        self.tries += 1
        self.shared.append(is_shared)
        if self.full:
            raise DISK_FULL
        self.states.append(state)

    def wait(self, stop: threading.Event) -> tuple[()]:
        wait_for(lambda: len(self.states) >= self.until, "the status")
        return ()


@pytest.fixture
def said() -> list[str]:
    return []


@dataclass
class FakeLease:
    """A lease, or one that another runner may have taken over."""

    is_held: bool = True


def follow(run: FakeRun, said: list[str], during: Any = None, held: FakeLease | None = None) -> None:
    """Follow a run to its end."""
    asked, log = cast(Any, held or FakeLease()), lambda event, **_: said.append(event)
    running._wait_for_end(cast(Any, run), running.Stopped(), asked, log, during)


@pytest.fixture(autouse=True)
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "STATUS_SECONDS", 0.01)


def test_status_is_written_until_the_end(tmp_path: Path, said: list[str]) -> None:
    run = FakeRun(Layout(tmp_path), until=3)
    follow(run, said)
    assert (run.states[:3], run.states[-1], said) == (["running"] * 3, "stopped", [])


def test_status_is_written_again_after_full_disk(tmp_path: Path, said: list[str]) -> None:
    run = FakeRun(Layout(tmp_path), full=True)

    def room(*_: object) -> None:
        wait_for(lambda: run.tries >= 3, "another try")
        run.full = False

    follow(run, said, room)
    assert (run.states[-1], said) == ("stopped", ["unwritten", "written"])


def test_full_disk_does_not_disturb_the_end(tmp_path: Path, said: list[str]) -> None:
    run = FakeRun(Layout(tmp_path), until=0, full=True)
    follow(run, said)
    assert (run.states, said) == ([], ["unwritten"])


@pytest.mark.parametrize("is_held", [True, False])
def test_other_machines_learn_the_status_of_the_holder_only(tmp_path: Path, said: list[str], is_held: bool) -> None:
    run = FakeRun(Layout(tmp_path))
    follow(run, said, held=FakeLease(is_held))
    assert {*run.shared} == {is_held}


@pytest.mark.parametrize(("seconds", "is_another"), [(0.2, False), (5.0, True)])
def test_signal_that_comes_at_once_again_is_the_same_request(
    seconds: float, is_another: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [100.0]
    monkeypatch.setattr(running.time, "monotonic", lambda: now[0])
    stopped = running.Stopped()
    first = stopped.ask(15)
    now[0] += seconds
    assert (first, stopped.ask(15)) == (False, is_another)
    assert (stopped.event.is_set(), stopped.exit_code) == (True, 143)


def test_broker_that_does_not_answer_is_told_before_a_jvm_is_started(
    project_files: ProjectFiles, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(BOOTSTRAP_VARIABLE, "127.0.0.1:1")
    monkeypatch.setattr(running, "run_project", lambda *_, **__: pytest.fail("it is run"))
    with pytest.raises(SystemExit) as ended:
        cli.main(["-C", str(project_files.root), "run"])
    said = capsys.readouterr().err.splitlines()
    assert (ended.value.code, len(said)) == (ExitCode.ENVIRONMENT, 1)
    assert said[0].startswith("headrace: Kafka at 127.0.0.1:1 does not answer")
