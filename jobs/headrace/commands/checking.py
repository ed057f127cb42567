"""The command check: all findings of a project, once or at every save."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.commands.workspace import Workspace
from headrace.errors import ExitCode, Finding, HeadraceError, InvalidProject
from headrace.planning import known
from headrace.project import report as findings_report
from headrace.project.declarations import manifest
from headrace.project.loader import Survey
from headrace.project.model import Project
from headrace.testing.cases import casefiles

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WATCHED = (".sql", ".yml", ".yaml", ".csv")
"""The files of a project that are edited by hand."""


def report(error: InvalidProject, folder: Path) -> int:
    """Print findings with their lines; nothing was changed."""
    root = manifest.find_root(folder)
    print(findings_report.render(error.findings, root, _coloured()), file=sys.stderr)
    print(f"headrace: {_count(error.findings)}, nothing was started", file=sys.stderr)
    return error.exit_code


def check(workspace: Workspace, offline: bool, as_json: bool) -> int:
    """Check the files; unless offline, also with Spark."""
    with _judge(offline) as judge:
        return _print_findings(workspace.survey(), judge, as_json)


def watch(workspace: Workspace, offline: bool, as_json: bool, saves: Iterable[object] | None = None) -> int:
    """Check the files now and after each save; Spark stays up in between."""
    root = manifest.find_root(workspace.folder)
    code = int(ExitCode.OK)
    with _judge(offline) as judge:
        for _ in _and_now(_saves(root) if saves is None else saves):
            try:
                code = _print_findings(workspace.survey(), judge, as_json)
            except HeadraceError as error:
                print(f"headrace: {error}", file=sys.stderr)
                code = int(error.exit_code)
    return code


class _Judge:
    """Spark, started when there is something to judge."""

    def __init__(self, offline: bool) -> None:
        self._offline = offline
        self._spark: SparkSession | None = None

    def findings(self, project: Project) -> tuple[Finding, ...]:
        """What Spark finds wrong with the models of a project."""
        if self._offline or not project.models or known.schemas(project) is not None:
            return ()
        from headrace.checking import verdict
        from headrace.spark import session

        if self._spark is None:
            self._spark = session.start(project.target, project.target.layout.spark_log())
        return verdict.judge(self._spark, project).findings

    def close(self) -> None:
        """End Spark."""
        if self._spark is not None:
            self._spark.stop()


@contextmanager
def _judge(offline: bool) -> Iterator[_Judge]:
    judge = _Judge(offline)
    try:
        yield judge
    finally:
        judge.close()


def _print_findings(surveyed: Survey, judge: _Judge, as_json: bool) -> int:
    """Print all findings; Spark checks only models without other findings."""
    sound = surveyed.sound
    found = sorted({*surveyed.findings, *casefiles.findings(surveyed), *(judge.findings(sound) if sound else ())})
    if as_json:
        for finding in found:
            print(json.dumps(_finding(finding)), flush=True)
    elif found:
        print(findings_report.render(found, surveyed.root, _coloured()), file=sys.stderr)
        print(f"headrace: {_count(found)}, nothing was started", file=sys.stderr)
    if not found:
        print(f"{len(sound.models) if sound else 0} models, no findings", file=sys.stderr)
    return int(ExitCode.INVALID if found else ExitCode.OK)


def _and_now(saves: Iterable[object]) -> Iterator[object]:
    yield None
    yield from saves


def _saves(root: Path) -> Iterator[object]:
    """Every save of a file that is edited by hand, hidden ones excluded."""
    from watchfiles import watch as watched

    def is_ours(_: object, path: str) -> bool:
        parts = Path(path).relative_to(root).parts
        return path.endswith(WATCHED) and not any(part.startswith(".") for part in parts)

    yield from watched(root, watch_filter=is_ours, debounce=200, step=50)


def _coloured() -> bool:
    return sys.stderr.isatty() and not os.environ.get("NO_COLOR")


def _count(findings: Iterable[Finding]) -> str:
    number = len(tuple(findings))
    return f"{number} finding{'s' if number != 1 else ''}"


def _finding(finding: Finding) -> dict[str, object]:
    place = finding.place
    return {
        "path": place.path,
        "line": place.line,
        "column": place.column,
        "code": finding.code,
        "message": finding.message,
    }
