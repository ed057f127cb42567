"""Watching a runner: a view that is redrawn on a terminal, else one line per query whenever it did something."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.console import Console
from rich.live import Live

from headrace.reading.dashboard import Arrival, frame, status_line, status_view
from headrace.reading.status import ProjectStatus, QueryStatus

FRAME_SECONDS = 0.5
LINE_SECONDS = 1.0


def watch(
    console: Console,
    status: Callable[[], ProjectStatus],
    arrivals: Callable[[], Sequence[Arrival]],
    wait: Callable[[float], bool | None],
) -> None:
    """Show status and arrivals, newest last, until `wait(seconds)` returns true.

    `threading.Event.wait` is such a function. On a terminal the last status stays on the screen.
    """
    if console.is_terminal and not console.is_dumb_terminal:
        _draw(console, status, arrivals, wait)
        console.print(status_view(status(), console.width))
    else:
        _print_lines(console, status, wait)


def _draw(
    console: Console,
    status: Callable[[], ProjectStatus],
    arrivals: Callable[[], Sequence[Arrival]],
    wait: Callable[[float], bool | None],
) -> None:
    with Live(console=console, screen=True, auto_refresh=False) as live:
        while True:
            live.update(frame(status(), arrivals(), console.width, console.height), refresh=True)
            if wait(FRAME_SECONDS):
                return


def _print_lines(console: Console, status: Callable[[], ProjectStatus], wait: Callable[[float], bool | None]) -> None:
    printed: dict[str, tuple[object, ...]] = {}
    while True:
        over = wait(LINE_SECONDS)
        now = status()
        for query in now.queries:
            if printed.get(query.name) != (news := _news(query)):
                printed[query.name] = news
                console.print(status_line(query, now.at), markup=False, highlight=False, soft_wrap=True)
        if over:
            return


def _news(query: QueryStatus) -> tuple[object, ...]:
    """What makes a query worth a line: a batch, or trouble."""
    return (query.batch, query.restarts, query.last_error, query.state in ("failed", "died"))
