"""Commands that look at a project and its data, and change nothing."""

from __future__ import annotations

import json
import sys
from itertools import islice
from pathlib import Path
from typing import Any, Literal, cast

from rich.console import Console

from headrace.commands.workspace import Workspace
from headrace.errors import ExitCode, InvalidProject, UsageError
from headrace.layout import Layout
from headrace.project import listing, manifest, selection
from headrace.project import report as findings_report
from headrace.project.model import Project
from headrace.reading import printing, stored
from headrace.reading import tail as following
from headrace.reading.dashboard import status_view
from headrace.reading.rows import Rows, to_json
from headrace.reading.show import show as show_rows
from headrace.reading.sql import sql as query_rows
from headrace.reading.status import read_status
from headrace.reading.stored import NotStored


def report(error: InvalidProject, folder: Path) -> int:
    """Print findings with their lines; the project was not touched."""
    print(findings_report.render(error.findings, manifest.find_root(folder)), file=sys.stderr)
    number = len(error.findings)
    print(f"headrace: {number} finding{'s' if number != 1 else ''}, nothing was started", file=sys.stderr)
    return error.exit_code


def list_models(workspace: Workspace, select: tuple[str, ...], exclude: tuple[str, ...], as_json: bool) -> int:
    """List sources and models."""
    chosen = selection.listed(workspace.declared, select, exclude)
    rows = [row for row in listing.describe(workspace.declared) if row["model"] in chosen]
    if as_json:
        printing.write_lines(json.dumps(row) for row in rows)
    else:
        printing.print_lines(_listing(rows), Console(), left_out_first=("engine", "outputs"))
    return ExitCode.OK


def check(workspace: Workspace, offline: bool, as_json: bool) -> int:
    """Check the files; unless offline, also with Spark."""
    try:
        project = workspace.declared
        if not offline:
            _spark_check(project)
    except InvalidProject as error:
        if not as_json:
            raise
        printing.write_lines(json.dumps(_finding(finding)) for finding in error.findings)
        return error.exit_code
    print(f"{len(project.models)} models, no findings", file=sys.stderr)
    return ExitCode.OK


def status(workspace: Workspace, as_json: bool) -> int:
    """Say how the runner fares."""
    told = read_status(workspace.declared, workspace.layout)
    if as_json:
        print(told.to_json())
    else:
        printing.print_view(lambda width: status_view(told, width), Console())
    return ExitCode.OK


def show(
    workspace: Workspace,
    table: str,
    key: str | None,
    history: str | None,
    where: str | None,
    limit: int | None,
    as_json: bool,
) -> int:
    """Show rows of a table."""
    most = limit if limit is not None else printing.MOST_ROWS
    rows = _rows(workspace, table, key, history, where, limit if as_json else most + 1)
    if as_json:
        printing.write_lines(printing.json_lines(rows))
    else:
        printing.print_rows(rows, Console(), Console(stderr=True), most)
    return ExitCode.OK


def _rows(
    workspace: Workspace, table: str, key: str | None, history: str | None, where: str | None, limit: int | None
) -> Rows:
    project = workspace.declared
    try:
        return show_rows(project, workspace.layout, table, key=key, history=history, where=where, limit=limit)
    except NotStored as error:
        if history is not None:
            raise
        from headrace.commands.viewing import view_rows

        return view_rows(project, error.model, key, where, limit)


def sql(workspace: Workspace, text: str, as_json: bool) -> int:
    """Run one SELECT over stored tables."""
    rows = query_rows(workspace.declared, workspace.layout, text)
    if as_json:
        printing.write_lines(printing.json_lines(rows))
    else:
        printing.print_rows(rows, Console(), Console(stderr=True))
    return ExitCode.OK


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


def _spark_check(project: Project) -> None:
    from headrace.engine import analysis, session

    spark = session.start(project.target, Layout(project.target.data_dir).spark_log())
    try:
        analysis.check(spark, project)
    finally:
        spark.stop()


def _finding(finding: Any) -> dict[str, Any]:
    place = finding.place
    return {
        "path": place.path,
        "line": place.line,
        "column": place.column,
        "code": finding.code,
        "message": finding.message,
    }


def _listing(rows: list[dict[str, Any]]) -> list[dict[str, str]]:
    columns = ("model", "kind", "engine", "query", "inputs", "outputs")
    return [
        {column: ", ".join(row[column]) if isinstance(row[column], list) else row[column] or "" for column in columns}
        for row in rows
    ]
