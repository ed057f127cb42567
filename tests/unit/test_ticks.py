"""When a landing lets time pass: never while there is something to read, and for idle sources only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from headrace.engine import tasks
from headrace.engine.landing import LandingReport
from headrace.engine.tasks import Bells, LandingTask
from headrace.errors import Place
from headrace.project.model import Landing, Topic

SOURCES = ("payments", "orders")


class Query:
    """A landing query whose topics bring what a test puts into `coming`."""

    landing = Landing("shop", tuple(Topic(name, name, Place("shop.yml")) for name in SOURCES), Place("shop.yml"))

    def __init__(self) -> None:
        self.coming: list[str] = []
        self.ticks: list[tuple[str, ...] | None] = []
        self.progress = dict.fromkeys(SOURCES, 0)
        self.lag = 0
        self.slow: Callable[[], None] = lambda: None

    def step(self, max_rows: int, upto: Any) -> LandingReport | None:
        for topic in self.coming:
            self.progress = {**self.progress, topic: self.progress[topic] + 1}
        landed, self.coming = len(self.coming), []
        self.slow()
        return LandingReport(0, 1, landed, 0) if landed else None

    def tick(self, sources: Sequence[str] | None) -> None:
        self.ticks.append(None if sources is None else tuple(sources))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """The monotonic clock, which a test moves."""
    clock = SimpleNamespace(now=1000.0)
    monkeypatch.setattr(tasks.time, "monotonic", lambda: clock.now)
    return clock


@pytest.fixture
def task(clock: SimpleNamespace) -> LandingTask:
    """A landing task for which a join waits; both sources have just brought something."""
    task = LandingTask(Query(), 0.0, 10, Bells(), lambda *_, **__: None)  # type: ignore[arg-type]
    task.idle_after = {"payments": 5.0, "orders": 20.0}
    task.waiting = task.comparing = lambda: True
    task.step()
    return task


def after(task: LandingTask, clock: SimpleNamespace, seconds: float, *coming: str) -> list[tuple[str, ...] | None]:
    """The ticks of a step so much later."""
    query: Any = task.query
    clock.now += seconds
    query.coming, query.ticks = list(coming), []
    task.step()
    return list(query.ticks)


def test_no_tick_before_a_source_is_idle(task: LandingTask, clock: SimpleNamespace) -> None:
    assert after(task, clock, 4.9) == []


def test_source_is_idle_after_its_own_time(task: LandingTask, clock: SimpleNamespace) -> None:
    assert after(task, clock, 5) == [("payments",)]


def test_all_idle_is_one_tick_for_all(task: LandingTask, clock: SimpleNamespace) -> None:
    assert after(task, clock, 20) == [None]


def test_ticks_keep_their_distance(task: LandingTask, clock: SimpleNamespace) -> None:
    found = [after(task, clock, 20), after(task, clock, 4.9), after(task, clock, 0.1)]
    assert found == [[None], [], [None]]


def test_quiet_source_ticks_while_another_is_busy(task: LandingTask, clock: SimpleNamespace) -> None:
    assert after(task, clock, 30, "orders") == [("payments",)]


def test_no_tick_while_there_is_more_to_read(task: LandingTask, clock: SimpleNamespace) -> None:
    task.query.lag = 11
    assert after(task, clock, 30, "orders") == []


def test_some_idle_sources_matter_to_a_join_only(task: LandingTask, clock: SimpleNamespace) -> None:
    task.comparing = lambda: False
    assert after(task, clock, 30, "orders") == []


def test_no_tick_where_nothing_waits(task: LandingTask, clock: SimpleNamespace) -> None:
    task.waiting = task.comparing = lambda: False
    assert after(task, clock, 30) == []


def test_record_makes_a_source_busy_again(task: LandingTask, clock: SimpleNamespace) -> None:
    assert after(task, clock, 19, "payments", "orders") == []


def test_quiet_landing_ticks_for_clocks_before_a_source_is_idle(task: LandingTask, clock: SimpleNamespace) -> None:
    task.idle_after = dict.fromkeys(SOURCES, 60.0)
    assert after(task, clock, 5) == [()]


def test_time_that_a_step_takes_makes_no_source_idle(task: LandingTask, clock: SimpleNamespace) -> None:
    """Kafka was asked before it: of what came meanwhile nothing is known."""

    def slow() -> None:
        clock.now += 100

    task.query.slow = slow  # type: ignore[attr-defined]
    assert after(task, clock, 4.9) == []
