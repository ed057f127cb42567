"""When a landing lets time pass: never while there is something to read, and for idle sources only; and how far."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from types import SimpleNamespace
from typing import Any

import pytest

from headrace.errors import Place
from headrace.landing.clocks import Reading, key_of, later, latest, readings_as_json
from headrace.landing.landing import LandingReport
from headrace.landing.ticks import watermarked
from headrace.project.model import Landing, Topic
from headrace.running.tasks import landing as landing_task
from headrace.running.tasks.landing import LandingTask
from headrace.running.tasks.task import CommitSignals

SOURCES = ("payments", "orders")


class Query:
    """A landing query whose topics bring what a test puts into `coming`."""

    landing = Landing("shop", tuple(Topic(name, name, Place("shop.yml")) for name in SOURCES), Place("shop.yml"))

    def __init__(self) -> None:
        self.coming: list[str] = []
        self.ticks: list[tuple[str, ...] | None] = []
        self.progress = dict.fromkeys(SOURCES, 0)
        self.lag = 0
        self.gone = frozenset[str]()
        self.time = SimpleNamespace(ahead=timedelta())
        self.table = SimpleNamespace(checkpoint=lambda: None)
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
    monkeypatch.setattr(landing_task.time, "monotonic", lambda: clock.now)
    return clock


@pytest.fixture
def task(clock: SimpleNamespace) -> LandingTask:
    """A landing task for which a join waits; both sources have just brought something."""
    task = LandingTask(Query(), 0.0, 10, CommitSignals(), lambda *_, **__: None)  # type: ignore[arg-type]
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


def test_clock_goes_on_from_its_largest_row() -> None:
    assert Reading(value=100, landed_at=1000).at(1030) == 130


def test_largest_row_counts_not_the_last() -> None:
    assert later({"a": Reading(100, 1000)}, {"a": Reading(90, 2000)}) == {"a": Reading(100, 1000)}


def test_of_equal_rows_the_last_counts() -> None:
    assert later({"a": Reading(100, 1000)}, {"a": Reading(100, 2000)}) == {"a": Reading(100, 2000)}


def test_clocks_are_apart() -> None:
    assert later({"a": Reading(1, 1)}, {"b": Reading(2, 2)}) == {"a": Reading(1, 1), "b": Reading(2, 2)}


def test_tick_carries_readings_as_numbers() -> None:
    readings = {"bronze.orders:event_time": Reading(100, 1000)}
    assert readings_as_json(readings) == '{"bronze.orders:event_time": [100, 1000]}'


def test_tick_of_a_landing_is_of_the_source_that_is_ahead() -> None:
    readings = {"bronze.orders:event_time": Reading(5, 10), "bronze.payments:event_time": Reading(7, 15)}
    moment = datetime(1970, 1, 1, microsecond=20, tzinfo=timezone.utc)
    assert latest(Query.landing, {**readings, "silver.other:at": Reading(9, 10)}, moment) == moment.replace(
        microsecond=15
    )


VIEW = """/*
Sales by their seconds, one row per sale.
*/
select timestamp_seconds(data.productId) as at from stream bronze.manufactured where data.productId > :limit
"""
COUNTS = """/*
Sales of a minute, one row per minute.

materialized: append
*/
with sales as (select at from stream silver.timed_sales watermark at delay of interval 1 minute)
select window.start as minute, count(*) as sale_count from sales group by window(at, '1 minute')
"""


@pytest.mark.parametrize(
    ("vars_", "view", "is_same"),
    [
        ({}, VIEW, True),
        ({}, VIEW.replace("by their seconds", "by the second").replace(" from", " -- as they come\n  from"), True),
        ({"limit": 5}, VIEW, False),
        ({}, VIEW.replace("seconds(", "millis("), False),
    ],
)
def test_clock_of_an_edited_view_is_another(project_files: Any, vars_: Any, view: str, is_same: bool) -> None:
    """What its rows showed by the old text does not hold for the new one."""
    project_files.write("sql/gold/other/timed.sql", COUNTS)
    keys = []
    for text, more in ((VIEW, {}), (view, vars_)):
        project_files.write("sql/silver/other/timed_sales.sql", text)
        project = project_files.load()
        project = replace(project, vars={**project.vars, **more})
        keys += [key_of(project, found) for found in watermarked(project.model("gold.timed"))]
    assert keys[0].startswith("silver.timed_sales:at:") and (keys[0] == keys[1]) is is_same


def test_clock_of_an_edited_macro_is_another(project_files: Any) -> None:
    project_files.write("sql/gold/other/timed.sql", COUNTS)
    project_files.write("sql/silver/other/timed_sales.sql", VIEW.replace("timestamp_seconds(", "moment("))
    macro = "create temporary function moment(n bigint) returns timestamp return timestamp_seconds(n)"
    keys = []
    for text in (macro, f"{macro}  -- since 1970", macro.replace("seconds", "millis")):
        project_files.write("macros/moment.sql", text)
        project = project_files.load()
        keys += [key_of(project, found) for found in watermarked(project.model("gold.timed"))]
    assert keys[0] == keys[1] != keys[2]
