"""Commands that look at a project and its data, and change nothing."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from itertools import islice
from typing import Any, Literal, cast

from rich.console import Console

from headrace.commands.workspace import Workspace
from headrace.errors import ExitCode, UsageError
from headrace.project import listing, rebuilds, selection, skips
from headrace.reading import printing, stored
from headrace.reading import tail as following
from headrace.reading.dashboard import status_view
from headrace.reading.rows import Rows, to_json
from headrace.reading.show import Wanted
from headrace.reading.show import show as show_rows
from headrace.reading.sql import sql as query_rows
from headrace.reading.status import read_status
from headrace.reading.stored import NotStored


def list_models(workspace: Workspace, select: tuple[str, ...], exclude: tuple[str, ...], as_json: bool) -> int:
    """List sources and models."""
    chosen = selection.listed(workspace.declared, select, exclude)
    rows = [row for row in listing.describe(workspace.declared) if row["model"] in chosen]
    if as_json:
        printing.write_lines(json.dumps(row) for row in rows)
    else:
        printing.print_lines(_listing(rows), Console(), left_out_first=("engine", "outputs"))
    return ExitCode.OK


def status(workspace: Workspace, as_json: bool) -> int:
    """Show the status of the runner and its queries."""
    project, layout = workspace.declared, workspace.layout
    skipped = tuple(skips.noted(layout, (query.name for query in project.queries)))
    current = replace(read_status(project, layout), skipped=skipped)
    if as_json:
        print(current.to_json())
    else:
        printing.print_view(lambda width: status_view(current, width), Console())
        for each in skipped:
            print(f"headrace: {each}", file=sys.stderr)
    for rebuild in rebuilds.known(layout):
        print(f"headrace: {rebuild.progress}", file=sys.stderr)
    return ExitCode.OK


def show(workspace: Workspace, table: str, wanted: Wanted, on_spark: bool, as_json: bool) -> int:
    """Show rows of a table."""
    most = wanted.limit if wanted.limit is not None else printing.MOST_ROWS
    asked = wanted if as_json else replace(wanted, limit=most + 1)
    rows = _on_spark(workspace, table, asked) if on_spark else _rows(workspace, table, asked)
    _print(rows, as_json, most)
    return ExitCode.OK


def _rows(workspace: Workspace, table: str, wanted: Wanted) -> Rows:
    try:
        return show_rows(workspace.declared, workspace.layout, table, **vars(wanted))
    except NotStored as error:
        if wanted.history is not None:
            raise
        from headrace.commands.viewing import view_rows

        return view_rows(workspace.declared, error.model, wanted.key, wanted.where, wanted.limit)


def _on_spark(workspace: Workspace, table: str, wanted: Wanted) -> Rows:
    if wanted.history is not None:
        raise UsageError("--spark reads a table as it is now: use it without --history")
    from headrace.commands.viewing import table_rows

    try:
        found = stored.relation(workspace.declared, workspace.layout, table)
    except NotStored:
        return _rows(workspace, table, wanted)
    return table_rows(workspace.declared, found, wanted.key, wanted.where, wanted.limit)


def sql(workspace: Workspace, text: str, on_spark: bool, as_json: bool) -> int:
    """Run one SELECT over stored tables."""
    if on_spark:
        from headrace.commands.viewing import query_rows as on_spark_rows

        rows = on_spark_rows(workspace.declared, text)
    else:
        rows = query_rows(workspace.declared, workspace.layout, text)
    _print(rows, as_json, printing.MOST_ROWS)
    return ExitCode.OK


def _print(rows: Rows, as_json: bool, most: int) -> None:
    if as_json:
        printing.write_lines(printing.json_lines(rows))
    else:
        printing.print_rows(rows, Console(), Console(stderr=True), most)


def tail(workspace: Workspace, name: str, start: str, limit: int | None, timeout: float | None, as_json: bool) -> int:
    """Follow a topic or a table."""
    if start not in ("beginning", "end"):
        raise UsageError("--from takes beginning or end")
    where = cast(Literal["beginning", "end"], start)
    until = following.Until(quiet=timeout, stopped=printing.reader_gone)
    table = name in stored.names(workspace.declared)
    if table:
        rows = following.tail_table(workspace.declared, workspace.layout, name, where, until)
    else:
        rows = following.tail_topic(workspace.connected().target.kafka, name, where, until)
    line = following.table_line if table else following.topic_line
    printing.write_lines(to_json(row) if as_json else line(row) for row in islice(rows, limit))
    return ExitCode.OK


def _listing(rows: list[dict[str, Any]]) -> list[dict[str, str]]:
    columns = ("model", "kind", "engine", "query", "inputs", "outputs")
    return [
        {column: ", ".join(row[column]) if isinstance(row[column], list) else row[column] or "" for column in columns}
        for row in rows
    ]
