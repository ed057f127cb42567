"""Rows on a screen or in a pipe: a table, one record below the other where it is too wide, or JSON lines."""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import islice
from typing import IO

from rich import box
from rich.console import Console, RenderableType
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from headrace.reading.rows import Row, Rows, to_json, to_text

_NO_EDGE = 100_000
"""A width that nothing reaches, for measuring a table and for printing into a pipe."""

MOST_ROWS = 100
"""How many rows are printed as text unless a limit is set."""


def print_rows(rows: Rows, out: Console, messages: Console, most: int = MOST_ROWS) -> None:
    """Print at most `most` rows as text to `out`, and notes about them to `messages`."""
    read = list(islice(rows.rows, most + 1))
    more = (f"only the first {most} rows are shown: see --limit",) if len(read) > most else ()
    if read:
        _print(rows.brief or tuple(c for c in rows.columns if not c.startswith("_")), read[:most], out)
    for note in (*rows.notes, *more):
        messages.print(note, highlight=False, markup=False, soft_wrap=True)


def print_lines(rows: Sequence[Mapping[str, str]], out: Console, left_out_first: Iterable[str] = ()) -> None:
    """Print one line per row; where a screen is too narrow, without some columns and then cut at its edge."""
    columns = tuple(rows[0]) if rows else ()
    for column in left_out_first:
        if _has_room(_lines(columns, rows), out):
            break
        columns = tuple(name for name in columns if name != column)
    print_view(lambda _: _lines(columns, rows), out)


def print_view(view: Callable[[int], RenderableType], out: Console) -> None:
    """Print what `view(width)` returns: as wide as the screen, or uncut at its full width into a pipe."""
    if out.is_terminal:
        out.print(view(out.width))
        return
    endless = Console(width=_NO_EDGE, color_system=None)
    with endless.capture() as captured:
        endless.print(view(_NO_EDGE))
    write_lines((line.rstrip() for line in captured.get().splitlines()), out.file)


def json_lines(rows: Rows) -> Iterator[str]:
    """One JSON object per row, all columns."""
    return map(to_json, rows.rows)


def write_lines(lines: Iterable[str], out: IO[str] | None = None) -> None:
    """Write lines to stdout as they come; ends quietly when the reader of the pipe has gone."""
    try:
        for line in lines:
            print(line, file=out, flush=True)
    except BrokenPipeError:
        # Python flushes stdout once more at exit, and would fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def reader_gone() -> bool:
    """Whether stdout is a pipe that nobody reads any more."""
    watch = select.poll()
    watch.register(sys.stdout.fileno(), 0)
    return any(event & (select.POLLERR | select.POLLHUP) for _, event in watch.poll(0))


def _print(columns: tuple[str, ...], rows: list[Row], out: Console) -> None:
    table = _table(columns, rows)
    if _has_room(table, out):
        print_view(lambda _: table, out)
    else:
        _print_records(columns, rows, out)


def _has_room(table: Table, out: Console) -> bool:
    """Whether a table fits; into a pipe every one does."""
    widest = Measurement.get(out, out.options.update(max_width=_NO_EDGE), table).maximum
    return not out.is_terminal or widest <= out.width


def _lines(columns: tuple[str, ...], rows: Sequence[Mapping[str, str]]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for column in columns:
        table.add_column(column)
    for row in rows:
        table.add_row(*(Text(row[column], no_wrap=True, overflow="ellipsis") for column in columns))
    return table


def _table(columns: tuple[str, ...], rows: list[Row]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for column in columns:
        numeric = all(isinstance(row[column], (int, float, Decimal)) or row[column] is None for row in rows)
        table.add_column(Text(column), justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*(_cell(row[column]) for column in columns))
    return table


def _print_records(columns: tuple[str, ...], rows: list[Row], out: Console) -> None:
    for number, row in enumerate(rows, start=1):
        out.rule(f"row {number}", align="left", style="dim")
        record = Table.grid(padding=(0, 2))
        record.add_column(style="bold", no_wrap=True)
        record.add_column(overflow="fold")
        for column in columns:
            record.add_row(column, _cell(row[column]))
        out.print(record)


def _cell(value: object) -> Text:
    return Text("-", style="dim") if value is None else Text(to_text(value))
