"""The runner's status for people: a line about the runner, a table of its queries, and what arrived last."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone

from rich.console import Group, RenderableType
from rich.filesize import decimal
from rich.table import Table
from rich.text import Text

from headrace.reading.status import FINISHED, ProjectStatus, QueryStatus, TableStatus

STYLES = {
    "starting": "cyan",
    "running": "green",
    "waiting": "dim",
    "backing_off": "yellow",
    "stopping": "yellow",
    "stopped": "dim",
    "failed": "bold red",
    "died": "bold red",
}
_HEAD_LINES = 3
_STATE_WIDTH = len("backing off")
_GAP = 2
TROUBLE = ("backing_off", "failed", "died")


@dataclass(frozen=True)
class Arrival:
    """Something that just came: a row of a table, or a line of the log."""

    at: datetime
    source: str
    text: str


@dataclass(frozen=True)
class Column:
    """A column of the table of queries; one that is not `steady` is shown only when a query has a value for it."""

    title: str
    cell: Callable[[QueryStatus], str]
    steady: bool = False
    style: str = ""

    @property
    def width(self) -> int:
        return max(len(self.title), 5)


COLUMNS = (
    Column("batch", lambda query: "" if query.batch is None else str(query.batch), steady=True),
    Column("rows/s", lambda query: _short(query.rows_per_second) if query.rows_per_second else "", steady=True),
    Column("behind", lambda query: "" if query.behind_by is None else _short(query.behind_by), steady=True),
    Column("watermark", lambda query: "" if query.watermark is None else _moment(query.watermark)),
    Column("kept", lambda query: "" if query.state_rows is None else _short(query.state_rows)),
    Column("late", lambda query: _short(query.late) if query.late else "", style="yellow"),
    Column("rejected", lambda query: _short(query.rejected) if query.rejected else "", style="yellow"),
    Column("failed", lambda query: _short(sum(query.failed.values())) if query.failed else "", style="yellow"),
    Column("restarts", lambda query: str(query.restarts) if query.restarts else "", style="yellow"),
)
LEFT_OUT_FIRST = ("kept", "restarts", "watermark", "late", "rejected", "failed")
"""What a narrow screen leaves out, before a name is cut."""


def status_view(status: ProjectStatus, width: int) -> RenderableType:
    """The whole status, as tall as it needs to be."""
    tables: list[RenderableType] = [Text(), _tables(status.tables)] if status.tables else []
    if not status.queries:
        return Group(_headline(status), *tables)
    queries = _queries(status.queries, status.queries, width)
    return Group(_headline(status), Text(), queries, *tables, *_errors(status.queries))


def frame(status: ProjectStatus, arrivals: Sequence[Arrival], width: int, height: int) -> RenderableType:
    """One picture of the live view that fits a screen: queries above, the newest arrivals below.

    Where not all queries have room, those that do something go first.
    """
    errors = _errors(status.queries)[:3]
    room = height - _HEAD_LINES - len(errors) - min(len(arrivals), height // 4) - 1
    shown = _busiest(status.queries, room)
    hidden = len(status.queries) - len(shown)
    rest = [Text(f"… and {hidden} more", style="dim")] if hidden else []
    left = height - _HEAD_LINES - len(shown) - len(rest) - len(errors) - 1
    table = _queries(shown, status.queries, width)
    return Group(_headline(status), Text(), table, *rest, *errors, *_latest(arrivals, left))


def status_line(query: QueryStatus, at: datetime | None) -> str:
    """One query in one line, for where there is no terminal."""
    words = [_iso(at)] if at else []
    words += [f"query={query.name}", f"state={query.state}", f"batch={query.batch}", f"rows={query.rows}"]
    words += [f"rows_per_second={query.rows_per_second:.1f}", f"behind_by={query.behind_by}"]
    words += [f"watermark={_iso(query.watermark)}"] if query.watermark else []
    words += [f"held_by={query.held_by} held_for={query.held_for or 0:.0f}s"] if query.held_by else []
    words += [f"late={query.late}"] if query.late else []
    words += [f"rejected={query.rejected}"] if query.rejected else []
    words += [f"failed={sum(query.failed.values())}"] if query.failed else []
    return " ".join([*words, f'error="{query.last_error}"'] if query.state in TROUBLE else words)


def _headline(status: ProjectStatus) -> Text:
    runner = status.project
    line = Text(no_wrap=True, overflow="ellipsis")
    line.append(runner.name, style="bold").append(f" · {runner.target} · ")
    line.append(runner.state, style=STYLES[runner.state])
    if runner.state in ("stopped", "died") and runner.pid is None:
        return line
    line.append(f" · pid {runner.pid}")
    if runner.started_at and status.at:
        word = "ran" if runner.state in FINISHED else "up"
        line.append(f" · {word} {_span(status.at - runner.started_at)}")
    return line


def _queries(shown: Sequence[QueryStatus], all_queries: Sequence[QueryStatus], width: int) -> Table:
    """Rows for some queries, in columns that fit all of them, so that nothing moves when others are shown."""
    columns = [column for column in COLUMNS if column.steady or any(map(column.cell, all_queries))]
    names = max((len(query.name) for query in all_queries), default=0)
    fixed = _STATE_WIDTH + _GAP
    for title in LEFT_OUT_FIRST:
        if names + fixed + sum(column.width + _GAP for column in columns) > width:
            columns = [column for column in columns if column.title != title]
    table = _grid()
    room = width - fixed - sum(column.width + _GAP for column in columns)
    table.add_column("query", no_wrap=True, overflow="ellipsis", width=max(min(names, room), 8))
    table.add_column("state", no_wrap=True, width=_STATE_WIDTH)
    for column in columns:
        table.add_column(column.title, justify="right", no_wrap=True, min_width=column.width, style=column.style)
    for query in shown:
        state = Text(query.state.replace("_", " "), style=STYLES[query.state])
        table.add_row(query.name, state, *(column.cell(query) for column in columns))
    return table


def _tables(tables: Sequence[TableStatus]) -> Table:
    """What maintenance has left of each table, the largest first."""
    shown = _grid()
    shown.add_column("table", no_wrap=True, overflow="ellipsis")
    for title in ("files", "size", "versions", "maintained"):
        shown.add_column(title, justify="right", no_wrap=True, min_width=5)
    for each in sorted(tables, key=lambda table: (-table.bytes, table.table)):
        size, versions = decimal(each.bytes), f"{each.horizon} to {each.newest}"
        shown.add_row(each.table, _short(each.files), size, versions, _moment(each.at))
    return shown


def _grid() -> Table:
    return Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="dim")


def _errors(queries: Sequence[QueryStatus]) -> list[Text]:
    failing = [query for query in queries if query.last_error and query.state in TROUBLE]
    return [
        Text(f"{query.name}: {' '.join((query.last_error or '').split())}", "red", no_wrap=True, overflow="ellipsis")
        for query in failing
    ]


def _busiest(queries: Sequence[QueryStatus], most: int) -> Sequence[QueryStatus]:
    """All queries, or as many as leave a line for the number of the others; in their own order."""
    if len(queries) <= most:
        return queries
    busiest = sorted(queries, key=lambda query: (query.state not in TROUBLE, query.state in ("waiting", "stopped")))
    chosen = busiest[: max(most - 1, 1)]
    return [query for query in queries if query in chosen]


def _latest(arrivals: Sequence[Arrival], most: int) -> list[Text]:
    if most < 1 or not arrivals:
        return []
    lines = [Text()]
    for arrival in arrivals[-most:]:
        line = Text(no_wrap=True, overflow="ellipsis")
        line.append(f"{arrival.at:%H:%M:%S} ", "dim").append(f"{arrival.source} ", "cyan").append(arrival.text)
        lines.append(line)
    return lines


def _short(number: float) -> str:
    """A number in at most five characters."""
    if number < 10 and number != int(number):
        return f"{number:.1f}"
    for unit in ("", "k", "M", "G"):
        if number < 9999.5 or unit == "G":
            return f"{number:.0f}{unit}"
        number /= 1000
    raise AssertionError


def _span(span: timedelta) -> str:
    hours, seconds = divmod(max(int(span.total_seconds()), 0), 3600)
    days, hours = divmod(hours, 24)
    return (f"{days}d " if days else "") + f"{hours}:{seconds // 60:02}:{seconds % 60:02}"


def _moment(moment: datetime) -> str:
    """A watermark: the time of day, with its date unless that is today."""
    utc = moment.astimezone(timezone.utc)
    return f"{utc:%H:%M:%S}" if utc.date() == datetime.now(timezone.utc).date() else f"{utc:%Y-%m-%d %H:%M}"


def _iso(moment: datetime) -> str:
    return moment.astimezone(timezone.utc).isoformat(timespec="seconds").replace("+00:00", "Z")
