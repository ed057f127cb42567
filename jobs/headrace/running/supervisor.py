"""Keeps tasks running: one thread each, restarted with back-off after a transient failure."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace

from headrace.errors import EnvironmentFault
from headrace.queries.scheduler import RANKS, Scheduler
from headrace.reading.status import QueryKind, QueryState, QueryStatus
from headrace.running.tasks.task import Log, Task
from headrace.spark.failures import SAME_FAILURES, WAITS, is_same, is_transient, message_of

STOP_SECONDS = 25.0
DONE_POLL_SECONDS = 1.0
"""How often a task that ends once nothing is left to do looks whether the tasks upstream have ended."""
IN_TURN: tuple[QueryKind, ...] = ("landing", "micro_batch", "snapshot")
"""Tasks whose every step computes. What Spark streams takes turns by itself, and publishers mostly wait."""


@dataclass(frozen=True)
class Failure:
    """Why a task failed permanently."""

    task: str
    cause: str


class Supervised:
    """A task with its state and failures."""

    def __init__(self, task: Task, upstream: Sequence[Supervised], log: Log, scheduler: Scheduler) -> None:
        self.task = task
        self.upstream = upstream
        self.awaited: Sequence[Supervised] = ()
        self.state: QueryState = "starting"
        self.restarts = 0
        self._attempts = 0
        self.last_error: str | None = None
        self.finished = threading.Event()
        self.caught_up = threading.Event()
        self._log = log
        self._scheduler = scheduler if task.kind in IN_TURN else None

    @property
    def failed(self) -> Failure | None:
        return Failure(self.task.name, self.last_error or "") if self.state == "failed" else None

    def status(self) -> QueryStatus:
        """The task's own status, with its state and failures."""
        status = self.task.status()
        last_error = self.last_error or status.last_error
        return replace(status, state=self.state, restarts=self.restarts, last_error=last_error)

    def run(self, stop: threading.Event, until_done: bool) -> None:
        """Step until stopped, failed permanently or, with `until_done`, until nothing is left to do.

        The first step waits until the awaited tasks have caught up.
        """
        try:
            wait_until(lambda: all(other.caught_up.is_set() for other in self.awaited), stop, poll=0.05)
            while not stop.is_set():
                upstream_done = all(other.finished.is_set() for other in self.upstream)
                upstream_caught_up = all(other.caught_up.is_set() for other in self.upstream)
                worked = self._step(stop)
                if worked is None:
                    return
                if upstream_caught_up and self.task.is_caught_up:
                    self.caught_up.set()
                if not worked and until_done and upstream_done:
                    break
                if not worked:
                    self._wait(stop, until_done)
            self.task.finish()
            self.task.close()
            self.state = "stopped"
        except Exception as error:  # the end of a task is not retried
            self._fail(message_of(error))
        finally:
            self.finished.set()
            self.caught_up.set()

    def _step(self, stop: threading.Event) -> bool | None:
        """One step, retried while its failure is transient; None if the task has failed permanently."""
        while not stop.is_set():
            try:
                worked = self._worked(stop)
                if self._has_recovered:
                    self._attempts, self.state = 0, "running" if worked else "waiting"
                return worked
            except Exception as error:
                self._attempts += 1
                if not self._can_go_on(error, self._attempts):
                    return None
                self._log("retry", query=self.task.name, attempt=self._attempts, cause=self.last_error)
                stop.wait(WAITS[min(self._attempts, len(WAITS)) - 1])
        return False

    @property
    def _has_recovered(self) -> bool:
        """Whether a step shows that what failed before does not fail any more.

        What Spark's engine runs by itself fails after the step that has started it.
        """
        return not self._attempts or self.task.kind != "streaming" or self.task.is_caught_up

    def _worked(self, stop: threading.Event) -> bool:
        with self._scheduler.slot(RANKS[self.task.kind]) if self._scheduler else nullcontext():
            if stop.is_set():
                return False
            self.task.wake.clear()
            return self.task.step()

    def _can_go_on(self, error: Exception, attempt: int) -> bool:
        cause, previous = message_of(error), self.last_error or ""
        self.last_error = cause
        self.restarts += 1
        verdict = is_transient(error)
        again = verdict is True or (verdict is None and (not is_same(cause, previous) or attempt < SAME_FAILURES))
        if again:
            self.state = "backing_off"
        else:
            self._fail(cause)
        with suppress(OSError, EnvironmentFault):  # a disk that is full is so for the notes of an end, too
            self.task.close()
        return again

    def _fail(self, cause: str) -> None:
        self.state, self.last_error = "failed", cause
        self._log("failed", query=self.task.name, cause=cause)

    def _wait(self, stop: threading.Event, until_done: bool) -> None:
        """Wait until there may be work: a new commit, or the poll interval; no event says that upstream has ended."""
        if not stop.is_set():
            self.task.wake.wait(min(self.task.poll, DONE_POLL_SECONDS) if until_done else self.task.poll)


class Supervisor:
    """All tasks of a run, each in its own thread."""

    def __init__(self, log: Log, scheduler: Scheduler) -> None:
        self.members: list[Supervised] = []
        self._scheduler = scheduler
        self.stop = threading.Event()
        self._log = log
        self._threads: list[threading.Thread] = []

    def add(self, task: Task, upstream: Sequence[Supervised] = ()) -> Supervised:
        """Add a task; with `until_done` it ends only after those upstream of it."""
        member = Supervised(task, upstream, self._log, self._scheduler)
        self.members.append(member)
        return member

    def start(self, until_done: bool) -> None:
        """Start every task's thread."""
        for member in self.members:
            thread = threading.Thread(
                target=member.run, args=(self.stop, until_done), name=member.task.name, daemon=True
            )
            self._threads.append(thread)
            thread.start()

    @property
    def failures(self) -> tuple[Failure, ...]:
        return tuple(f for member in self.members if (f := member.failed))

    @property
    def done(self) -> bool:
        """Whether no task is running any more."""
        return all(member.finished.is_set() for member in self.members)

    def end(self) -> bool:
        """Stop every task between two of its steps; False if one did not end in time."""
        self.stop.set()
        for member in self.members:
            member.task.wake.set()
        deadline = time.monotonic() + STOP_SECONDS
        for thread in self._threads:
            thread.join(max(deadline - time.monotonic(), 0))
        return not any(thread.is_alive() for thread in self._threads)


def wait_until(condition: Callable[[], bool], stop: threading.Event, poll: float = 0.2) -> None:
    """Return once a condition holds or a stop is requested."""
    while not condition() and not stop.wait(poll):
        pass
