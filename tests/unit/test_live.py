"""Watching a runner."""

import io
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timezone

from rich.console import Console

from headrace.reading.dashboard import Arrival
from headrace.reading.live_status import watch
from headrace.reading.status import ProjectStatus, QueryStatus, RunnerStatus

AT = datetime(2026, 1, 1, 12, tzinfo=timezone.utc)
FIRST = QueryStatus("orders", "micro_batch", "running", 1)


def looks(count: int) -> Callable[[float], bool]:
    """A wait that ends the watching after so many looks, without waiting."""
    left = iter(range(count, 0, -1))
    return lambda seconds: next(left) == 1


def watched(*states: QueryStatus, terminal: bool) -> str:
    coming = iter(states)
    console = Console(file=io.StringIO(), force_terminal=terminal, width=80, height=24, color_system=None)
    last = [states[-1]]

    def status() -> ProjectStatus:
        return ProjectStatus(RunnerStatus("demo", "local", 1, AT, "running"), AT, (next(coming, last[0]),))

    watch(console, status, lambda: [Arrival(AT, "gold.calls", "a row")], looks(len(states)))
    return console.file.getvalue()  # type: ignore[attr-defined, no-any-return]


def test_each_batch_gets_a_line() -> None:
    lines = watched(FIRST, replace(FIRST, batch=2), terminal=False).splitlines()
    assert [word for line in lines for word in line.split() if word.startswith("batch")] == ["batch=1", "batch=2"]


def test_same_batch_gets_one_line() -> None:
    assert len(watched(FIRST, replace(FIRST, rows_per_second=2), terminal=False).splitlines()) == 1


def test_failure_gets_a_line() -> None:
    failed = replace(FIRST, state="failed", last_error="boom")
    assert watched(FIRST, failed, terminal=False).splitlines()[-1].endswith('error="boom"')


def test_terminal_shows_arrivals() -> None:
    assert "gold.calls a row" in watched(FIRST, terminal=True)


def test_last_status_stays_on_the_terminal() -> None:
    assert watched(FIRST, replace(FIRST, batch=77), terminal=True).rstrip().endswith("77")
