"""What a run does with a task that fails: tried again, ended for good, and always reported."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from headrace.errors import EnvironmentFault, HeadraceError
from headrace.queries.scheduler import Scheduler
from headrace.reading.status import QueryKind, QueryStatus
from headrace.running import supervisor
from headrace.running.supervisor import Supervised, Supervisor
from headrace.running.tasks.publisher import PublisherTask
from headrace.running.tasks.task import CommitSignals
from headrace.spark import failures
from tests.waiting import PATIENCE, wait_for

BROKER_AWAY = KafkaException(KafkaError(KafkaError._ALL_BROKERS_DOWN))
REFUSED = KafkaException(KafkaError(KafkaError._AUTHENTICATION))
DISK_FULL = OSError(28, "No space left on device")
DIVIDED = RuntimeError("[DIVIDE_BY_ZERO] Division by zero. SQLSTATE: 22012")
UNKNOWN = RuntimeError("what is this?")


def nothing() -> None:
    """Go well."""


def raising(*errors: Exception) -> Callable[[], None]:
    """What fails in these ways, one call after another, and goes well from then on."""
    left = list(errors)

    def fail() -> None:
        if left:
            raise left.pop(0)

    return fail


@dataclass
class Acted:
    """A task with configured behaviour."""

    fail: Callable[[], None] = nothing
    fail_at_end: Callable[[], None] = nothing
    fail_at_close: Callable[[], None] = nothing
    steps: int = 0
    name: str = "acted"
    kind: QueryKind = "micro_batch"
    poll: float = 0.01
    wake: threading.Event = field(default_factory=threading.Event)

    def step(self) -> bool:
        self.steps += 1
        self.fail()
        return self.kind == "streaming" and self.steps < 40

    is_caught_up: bool = True

    def finish(self) -> None:
        self.fail_at_end()

    def close(self) -> None:
        self.fail_at_close()

    def status(self) -> QueryStatus:
        return QueryStatus(self.name, self.kind)


@dataclass
class Run:
    """What became of some tasks, and what was logged about them."""

    supervisor: Supervisor
    said: list[tuple[str, Any]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Run]:
    """Runs tasks until nothing is left to do, without the waits between two attempts."""
    monkeypatch.setattr(supervisor, "WAITS", (0.0,))

    def perform(*tasks: Acted) -> Run:
        said: list[tuple[str, Any]] = []
        made = Supervisor(lambda event, **fields: said.append((event, fields.get("cause"))), Scheduler(at_once=1))
        former: list[Supervised] = []
        for task in tasks:
            former = [made.add(task, former)]
        made.start(until_done=True)
        wait_for(lambda: made.done, "the end of all tasks")
        assert made.end()
        return Run(made, said)

    return perform


@pytest.mark.parametrize("passing", [BROKER_AWAY, DISK_FULL, EnvironmentFault("away")])
def test_what_can_pass_is_tried_until_it_has(run: Callable[..., Run], passing: Exception) -> None:
    task = Acted(fail=raising(*[passing] * 20))
    done = run(task)
    (member,) = done.supervisor.members
    assert (task.steps, member.state, done.supervisor.failures) == (21, "stopped", ())
    assert [event for event, _ in done.said] == ["retry"] * 20
    assert member.status().restarts == 20


def test_disk_that_is_full_at_the_end_of_an_attempt_too_is_tried_again(run: Callable[..., Run]) -> None:
    task = Acted(fail=raising(*[DISK_FULL] * 3), fail_at_close=raising(*[DISK_FULL] * 2))
    done = run(task)
    assert (task.steps, done.supervisor.failures) == (4, ())


@pytest.mark.parametrize("lasting", [REFUSED, DIVIDED, HeadraceError("the stored table does not fit")])
def test_what_cannot_pass_ends_the_task_at_once(run: Callable[..., Run], lasting: Exception) -> None:
    task = Acted(fail=raising(lasting))
    done = run(task)
    (failure,) = done.supervisor.failures
    assert (task.steps, failure.task, failure.cause) == (1, "acted", failures.message_of(lasting))
    assert done.said == [("failed", failures.message_of(lasting))]


def test_failure_of_unknown_kind_may_repeat_itself_a_few_times(run: Callable[..., Run]) -> None:
    task = Acted(fail=raising(*[UNKNOWN] * failures.SAME_FAILURES))
    done = run(task)
    assert (task.steps, len(done.supervisor.failures)) == (failures.SAME_FAILURES, 1)


def test_failures_that_differ_in_numbers_of_spark_are_the_same(run: Callable[..., Run]) -> None:
    again = [RuntimeError(f"key not found: id#{number} in stage {number}.0 (TID {number})") for number in range(20)]
    task = Acted(fail=raising(*again))
    done = run(task)
    assert (task.steps, len(done.supervisor.failures)) == (failures.SAME_FAILURES, 1)


def test_failures_of_unknown_kinds_that_differ_are_tried_again(run: Callable[..., Run]) -> None:
    others = [RuntimeError(f"number {number}") for number in range(2 * failures.SAME_FAILURES)]
    assert run(Acted(fail=raising(*others))).supervisor.failures == ()


@pytest.mark.parametrize("files", [1, 2])
def test_query_of_the_streaming_engine_that_fails_after_each_start_ends(run: Callable[..., Run], files: int) -> None:
    """It fails in a step after the one that has started it; and Spark may name another of several files each time."""
    gone = [RuntimeError(f"/t/batch-{n % files:032x}/part-0.parquet: missing-file") for n in range(20)]
    fail = raising(*gone)
    task = Acted(kind="streaming", is_caught_up=False)
    task.fail = lambda: fail() if task.steps % 2 == 0 else None
    done = run(task)
    assert (task.steps, len(done.supervisor.failures)) == (2 * failures.SAME_FAILURES, 1)


def test_query_of_the_streaming_engine_that_has_run_since_may_fail_again(run: Callable[..., Run]) -> None:
    fail = raising(*[UNKNOWN] * 20)
    task = Acted(kind="streaming")
    task.fail = lambda: fail() if task.steps % 2 == 0 else None
    assert run(task).supervisor.failures == ()


def test_task_begins_when_those_it_awaits_have_caught_up() -> None:
    made, order = Supervisor(lambda *_, **__: None, Scheduler(at_once=4)), list[str]()
    first = Acted(name="first", fail=lambda: order.append("first"), is_caught_up=False)
    second = Acted(name="second", fail=lambda: order.append("second"))
    other, waiting = made.add(first), made.add(second)
    waiting.awaited = [other]
    made.start(until_done=False)
    wait_for(lambda: first.steps > 3, "some steps of the first")
    assert second.steps == 0
    first.is_caught_up = True
    wait_for(lambda: second.steps > 0, "the second's first step")
    assert made.end()


def test_task_does_not_wait_for_one_that_failed(run: Callable[..., Run]) -> None:
    made = Supervisor(lambda *_, **__: None, Scheduler(at_once=4))
    waiting = made.add(Acted(name="waiting"))
    waiting.awaited = [made.add(Acted(name="failed", fail=raising(DIVIDED)))]
    made.start(until_done=True)
    wait_for(lambda: made.done, "the end of both")
    assert [member.state for member in made.members] == ["stopped", "failed"]


def test_others_go_on_and_those_behind_it_end_too(run: Callable[..., Run]) -> None:
    failed, behind = Acted(fail=raising(DIVIDED), name="failed"), Acted(name="behind")
    done = run(failed, behind)
    assert [member.state for member in done.supervisor.members] == ["failed", "stopped"]
    assert behind.steps > 0


@pytest.mark.parametrize("where", ["fail_at_end", "fail_at_close"])
def test_failure_of_the_end_is_reported(run: Callable[..., Run], where: str) -> None:
    done = run(Acted(**{where: raising(DISK_FULL)}))
    (failure,) = done.supervisor.failures
    assert done.said == [("failed", failure.cause)]
    assert "No space left" in failure.cause


def test_stop_ends_waiting_tasks() -> None:
    made = Supervisor(lambda *_, **__: None, Scheduler(at_once=1))
    made.add(Acted(poll=PATIENCE))
    made.start(until_done=False)
    wait_for(lambda: made.members[0].state == "waiting", "a task without work")
    assert made.end()
    assert made.members[0].state == "stopped"


def test_available_input_ends_without_waiting_for_a_rare_poll() -> None:
    made = Supervisor(lambda *_, **__: None, Scheduler(at_once=2))
    rare = Acted(name="rare", kind="publisher", poll=60.0)
    upstream = made.add(Acted(name="upstream", fail=lambda: wait_for(lambda: rare.steps > 0, "a step of the other")))
    made.add(rare, [upstream])
    made.start(until_done=True)
    wait_for(lambda: made.done, "the end of both", 30.0)
    assert made.end()


def test_commit_wakes_a_publisher_however_rarely_it_looks() -> None:
    signals, model = CommitSignals(), SimpleNamespace(name="sales", table="gold.sales")
    publisher: Any = SimpleNamespace(model=model)
    near, far = (PublisherTask(publisher, signals, print, is_remote) for is_remote in (False, True))
    assert near.poll < far.poll
    signals.notify("gold.sales")
    assert near.wake.is_set() and far.wake.is_set()
