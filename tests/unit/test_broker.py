"""The embedded broker's bookkeeping, without a JVM."""

from __future__ import annotations

import errno
import json
import os
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from headrace.environment import broker as module
from headrace.environment import guard, kafka
from headrace.environment.broker import Broker, BrokerState
from headrace.environment.kafka import Ports
from headrace.errors import EnvironmentFault
from tests.waiting import wait_for


def remember(data: Path, ports: Ports, pid: int | None) -> None:
    """Write a state file as a start or a stop does."""
    state = {"port": ports.broker, "controller_port": ports.controller, "pid": pid}
    (data / "broker.json").write_text(json.dumps(state))


@pytest.fixture
def taken() -> Iterator[int]:
    """A port that is in use."""
    with socket.create_server((kafka.HOST, 0)) as server:
        yield server.getsockname()[1]


def pretend_server(monkeypatch: pytest.MonkeyPatch, last_words: str) -> list[Ports]:
    """Replace Kafka by a process that prints something and ends; return the ports that it gets."""
    prepared: list[Ports] = []

    def spawn(data: Path) -> int:
        command = ["/bin/sh", "-c", f'echo "{last_words}" >"$0"', str(data / kafka.LOG)]
        return os.posix_spawn(command[0], command, os.environ)

    monkeypatch.setattr(kafka, "prepare", lambda data, ports: prepared.append(ports))
    monkeypatch.setattr(kafka, "spawn", spawn)
    monkeypatch.setattr(module, "answers", lambda bootstrap: False)
    return prepared


@pytest.fixture
def living(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Kafka replaced by processes that only live, as children of this one; their ids."""
    pids: list[int] = []

    def spawn(data: Path) -> int:
        command = [sys.executable, "-c", "import signal; signal.pause()", *kafka.identity(data)]
        pids.append(os.posix_spawn(command[0], command, os.environ))
        # for a moment it has no words at all; Kafka answers much later
        wait_for(lambda: psutil.Process(pids[-1]).cmdline() == command, "the process", every=0.01)
        return pids[-1]

    monkeypatch.setattr(kafka, "prepare", lambda data, ports: None)
    monkeypatch.setattr(kafka, "spawn", spawn)
    monkeypatch.setattr(module, "answers", lambda bootstrap: True)
    yield pids
    for pid in pids:
        with suppress(psutil.NoSuchProcess):
            guard.end(psutil.Process(pid))


def kill(pid: int) -> None:
    """End a child at once, and leave it a zombie."""
    os.kill(pid, signal.SIGKILL)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)


def disk_full(*_: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_never_started_broker_is_stopped(tmp_path: Path) -> None:
    assert Broker(tmp_path / "none").status() == BrokerState(None, None, "stopped")


def test_pid_of_another_process_is_stale(tmp_path: Path) -> None:
    remember(tmp_path, Ports(21001, 21002), os.getpid())
    assert Broker(tmp_path).status() == BrokerState("127.0.0.1:21001", None, "stopped")


@pytest.mark.parametrize("text", ["", "{", "[]", '{"port": 1}'])
def test_broken_state_file_is_a_stopped_broker(tmp_path: Path, text: str) -> None:
    (tmp_path / "broker.json").write_text(text)
    assert Broker(tmp_path).status() == BrokerState(None, None, "stopped")


def test_stop_spares_another_process(tmp_path: Path) -> None:
    remember(tmp_path, Ports(21001, 21002), os.getpid())
    assert Broker(tmp_path).stop().state == "stopped"


def test_free_ports_are_kept(tmp_path: Path) -> None:
    ports = kafka.choose_ports()
    remember(tmp_path, ports, None)
    assert Broker(tmp_path)._choose_ports() == ports


@pytest.mark.parametrize("clash", ["broker", "controller"])
def test_taken_port_is_changed_and_reported(
    tmp_path: Path, taken: int, clash: str, capsys: pytest.CaptureFixture[str]
) -> None:
    remember(tmp_path, Ports(taken, 21002) if clash == "broker" else Ports(21001, taken), None)
    ports = Broker(tmp_path)._choose_ports()
    assert taken not in (ports.broker, ports.controller)
    assert ports.bootstrap in capsys.readouterr().err


def test_chosen_ports_are_not_for_outgoing_use() -> None:
    ports = kafka.choose_ports()
    assert ports.broker != ports.controller
    assert {ports.broker, ports.controller} <= set(kafka.PORTS)


def test_broker_listens_on_loopback_only() -> None:
    settings = dict(line.split("=", 1) for line in kafka.properties(Ports(1, 2), "logs").splitlines() if line[0] != "#")
    addresses = (settings["listeners"] + "," + settings["advertised.listeners"]).split(",")
    assert {address.split("://")[1].split(":")[0] for address in addresses} == {"127.0.0.1"}


def test_child_sees_no_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_PASSWORD", "secret")
    assert set(kafka.child_environment()) == {"PATH", "LC_ALL", "TZ"}


def test_failed_start_names_the_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pretend_server(monkeypatch, "the disk is on fire")
    with pytest.raises(EnvironmentFault, match="the disk is on fire"):
        Broker(tmp_path).start(daemon=False)
    assert Broker(tmp_path).status().state == "stopped"


def test_port_lost_to_a_race_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prepared = pretend_server(monkeypatch, kafka.PORT_TAKEN)
    with pytest.raises(EnvironmentFault):
        Broker(tmp_path).start(daemon=True)
    assert len(prepared) == module.ATTEMPTS


def test_unwritable_data_directory_is_a_fault(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(EnvironmentFault, match="cannot be written"):
        Broker(tmp_path / "file" / "broker").start(daemon=True)


def test_long_log_is_cut(tmp_path: Path) -> None:
    (tmp_path / kafka.LOG).write_text("\n".join(f"{number}\n\tat some.Frame" for number in range(100)))
    assert kafka.log_tail(tmp_path, 2) == "98\n99"


def test_silent_address_does_not_answer() -> None:
    assert not module.answers(kafka.choose_ports().bootstrap, timeout=0.1)


def test_run_stops_what_it_started(tmp_path: Path, living: list[int]) -> None:
    with Broker(tmp_path).running() as ours:
        assert Broker(tmp_path).status() == ours
    assert (Broker(tmp_path).status().state, psutil.pid_exists(living[0])) == ("stopped", False)


def test_run_spares_what_was_up(tmp_path: Path, living: list[int]) -> None:
    theirs = Broker(tmp_path).start(daemon=True)
    with Broker(tmp_path).running() as found:
        assert found == theirs
    assert Broker(tmp_path).status() == theirs


def test_run_spares_what_came_after(tmp_path: Path, living: list[int]) -> None:
    with Broker(tmp_path).running() as ours:
        kill(ours.pid or 0)
        theirs = Broker(tmp_path).start(daemon=True)
    assert theirs.pid == living[1]
    assert Broker(tmp_path).status() == theirs


def test_killed_broker_is_noted_as_stopped(tmp_path: Path, living: list[int]) -> None:
    with Broker(tmp_path).running():
        kill(living[0])
    assert json.loads((tmp_path / "broker.json").read_text())["pid"] is None


def test_used_again_pid_is_another_broker(tmp_path: Path, living: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    theirs = Broker(tmp_path).start(daemon=True)
    former = psutil.Process(living[0])
    monkeypatch.setattr(former, "_ident", (former.pid, 0.0))  # as if it had begun long before
    Broker(tmp_path)._end(former)
    assert Broker(tmp_path).status() == theirs


def test_start_that_cannot_be_noted_leaves_nothing(
    tmp_path: Path, living: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as full:
        full.setattr(os, "replace", disk_full)
        with pytest.raises(OSError, match="No space left"):
            Broker(tmp_path).start(daemon=True)
    assert not psutil.pid_exists(living[0])


def test_full_disk_does_not_keep_a_broker_up(
    tmp_path: Path, living: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as full, Broker(tmp_path).running():
        full.setattr(os, "replace", disk_full)
    assert (Broker(tmp_path).status().state, psutil.pid_exists(living[0])) == ("stopped", False)


def test_no_free_port_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kafka, "is_free", lambda port: port == kafka.PORTS.start)
    with pytest.raises(EnvironmentFault, match="are free"):
        kafka.choose_ports()
