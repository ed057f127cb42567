"""The embedded Kafka broker: a real one, in a child JVM, for the demo and the tests."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import psutil
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient
from filelock import FileLock
from rich.console import Console

from headrace.environment import guard, kafka
from headrace.environment.kafka import Ports
from headrace.errors import EnvironmentFault
from headrace.store.paths import make_private
from headrace.write_errors import naming

STARTS_WITHIN = 60.0
ATTEMPTS = 3


@dataclass(frozen=True)
class BrokerState:
    """What is known of a broker; `bootstrap` stays the same from start to start, None before the first."""

    bootstrap: str | None
    pid: int | None
    state: Literal["running", "stopped"]


class Broker:
    """The broker of one data directory; any process may start, query or stop it."""

    def __init__(self, data: Path) -> None:
        self._data = data.absolute()
        self._leash: guard.Leash | None = None

    def status(self) -> BrokerState:
        """Return whether the broker's process is alive; another process with its old pid does not count."""
        record = self._read()
        bootstrap = record.ports.bootstrap if record else None
        process = self._process(record)
        return BrokerState(bootstrap, process.pid, "running") if process else BrokerState(bootstrap, None, "stopped")

    def start(self, daemon: bool) -> BrokerState:
        """Return once the broker answers; one that is already running is left as it is.

        A daemon outlives this process, any other broker ends with it.
        """
        return self._ensure(daemon)[0]

    def stop(self) -> BrokerState:
        """End the broker if it runs; its data and its ports stay."""
        with self._held():
            process = self._process(self._read())
            if process:
                self._end(process)
            return self.status()

    def ports_free(self) -> bool:
        """True if nothing listens on the ports of the last start; also before the first."""
        record = self._read()
        return record is None or all(kafka.is_free(port) for port in (record.ports.broker, record.ports.controller))

    @contextmanager
    def running(self) -> Iterator[BrokerState]:
        """Provide a broker while the block runs: the running one, else one that ends with the block."""
        state, started = self._ensure(daemon=False)
        try:
            yield state
        finally:
            if started:
                with self._held():
                    self._end(started)

    def _ensure(self, daemon: bool) -> tuple[BrokerState, psutil.Process | None]:
        """Return a broker that answers and, if it was started for that, its process."""
        with self._held():
            state = self.status()
            if state.pid is None or state.bootstrap is None:
                return self._launch(daemon)
            if not _await_answer(state.pid, state.bootstrap):
                raise EnvironmentFault(f"The broker (pid {state.pid}) does not answer. Stop it and start it again.")
            return state, None

    def _launch(self, daemon: bool) -> tuple[BrokerState, psutil.Process]:
        for _ in range(ATTEMPTS):
            ports = self._choose_ports()
            kafka.prepare(self._data, ports)
            process = psutil.Process(kafka.spawn(self._data))  # it records the start time: the pid may be reused
            if self._comes_up(process, ports, daemon):
                return BrokerState(ports.bootstrap, process.pid, "running"), process
            if not kafka.lost_a_port(self._data):
                break
        log_end = kafka.log_tail(self._data) or "nothing. Is the disk full?"
        raise EnvironmentFault(f"The broker did not start. The end of {self._data / kafka.LOG} says:\n{log_end}")

    def _choose_ports(self) -> Ports:
        """Return the ports of the last start if they are free, else new ones, with a notice."""
        record = self._read()
        if record and self.ports_free():
            return record.ports
        ports = kafka.choose_ports()
        if record:
            moved = f"Another program uses the broker's address {record.ports.bootstrap}; it is now {ports.bootstrap}."
            Console(stderr=True).print(moved, soft_wrap=True)
        return ports

    def _comes_up(self, process: psutil.Process, ports: Ports, daemon: bool) -> bool:
        """Wait for the broker's first answer; a start that fails or is interrupted leaves no process."""
        up = False
        try:
            if not daemon:
                self._leash = guard.tie(process.pid)
            self._write(_Record(ports, process.pid))
            up = _await_answer(process.pid, ports.bootstrap)
        finally:
            if not up:
                self._end(process)
        return up

    def _end(self, process: psutil.Process) -> None:
        """End one broker; the record of another one, started in its place, stays."""
        guard.end(process)
        self._release_leash()
        record = self._read()
        if record and self._process(record) is None:
            with suppress(OSError):  # the pid of a process that has ended means the same
                self._write(_Record(record.ports, None))

    def _release_leash(self) -> None:
        if self._leash:
            self._leash.release()
            self._leash = None

    def _process(self, record: _Record | None) -> psutil.Process | None:
        if record is None or record.pid is None:
            return None
        try:
            process = psutil.Process(record.pid)
            ours = tuple(process.cmdline()[-2:]) == kafka.identity(self._data)
        except psutil.Error:
            return None
        return process if ours else None

    def _read(self) -> _Record | None:
        try:
            stored = json.loads(self._state_file.read_text("utf-8"))
            return _Record(Ports(stored["port"], stored["controller_port"]), stored["pid"])
        except (FileNotFoundError, ValueError, KeyError, TypeError):
            return None

    def _write(self, record: _Record) -> None:
        fresh = self._state_file.with_suffix(".new")
        with naming(fresh):
            fresh.write_text(json.dumps(record.as_json()), "utf-8")
        os.replace(fresh, self._state_file)

    @property
    def _state_file(self) -> Path:
        return self._data / "broker.json"

    @contextmanager
    def _held(self) -> Iterator[None]:
        try:
            make_private(self._data)
            lock = FileLock(self._data / "broker.lock")
            lock.acquire()
        except OSError as error:
            message = (
                f"The broker's data directory cannot be written: {error}. Set HEADRACE_DATA_DIR to another folder."
            )
            raise EnvironmentFault(message) from error
        try:
            yield
        finally:
            lock.release()


@dataclass(frozen=True)
class _Record:
    """The contents of the state file; `pid` is None after a stop."""

    ports: Ports
    pid: int | None

    def as_json(self) -> dict[str, object]:
        return {
            "bootstrap": self.ports.bootstrap,
            "pid": self.pid,
            "state": "running" if self.pid else "stopped",
            "port": self.ports.broker,
            "controller_port": self.ports.controller,
        }


def answers(bootstrap: str, options: Mapping[str, str] | None = None, timeout: float = 1.0) -> bool:
    """True if a broker at this address lists its cluster's brokers."""
    quiet = {"log_level": 0, "reconnect.backoff.ms": 20, "reconnect.backoff.max.ms": 100}
    try:
        client = AdminClient({**quiet, **(options or {}), "bootstrap.servers": bootstrap})
        return bool(client.list_topics(timeout=timeout).brokers)
    except KafkaException:
        return False


def _await_answer(pid: int, bootstrap: str) -> bool:
    """Wait until the broker answers; False if its process ends or the time is up."""
    deadline = time.monotonic() + STARTS_WITHIN
    while _alive(pid) and time.monotonic() < deadline:
        if answers(bootstrap):
            return True
    return False


def _alive(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
