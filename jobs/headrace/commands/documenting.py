"""Commands that describe a project: lineage and docs."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from datetime import datetime, timezone
from pathlib import Path, PurePosixPath
from typing import Any

from headrace.catalogue import artifacts, lineage, origins
from headrace.commands.workspace import Workspace
from headrace.errors import ExitCode, InvalidProject, UsageError
from headrace.planning import declared, known
from headrace.planning.declared import Schemas
from headrace.project.model import Project
from headrace.reading import printing
from headrace.store.layout import Layout
from headrace.testing.cases import case as cases
from headrace.testing.cases import casefiles


def trace(workspace: Workspace, name: str, form: str, down: bool, as_json: bool) -> int:
    """Show what a column is derived from, or what is derived from it."""
    if form not in ("text", "mermaid"):
        raise UsageError("--format takes text or mermaid")
    found = origins.read(workspace.declared)
    starts, links = found.named(name), found.children() if down else found.parents()
    if as_json:
        printing.write_lines(json.dumps(row) for row in lineage.rows(found, starts, links))
    elif form == "mermaid":
        printing.write_lines(lineage.mermaid(starts, links, down))
    else:
        printing.write_lines(line for start in starts for line in lineage.tree(found, start, links))
    return ExitCode.OK


def document(workspace: Workspace, out: Path | None) -> int:
    """Write the page and the manifest."""
    from headrace.catalogue import page
    from headrace.reading.freshness import freshness

    project, layout = workspace.declared, workspace.layout
    folder, tests = out or layout.artifacts, test_cases(project)
    facts = page.Facts(
        at=datetime.now(timezone.utc),
        tests=tests,
        types=_types(project, layout),
        fresh=freshness(project, layout),
        runner=_runner(project, layout),
    )
    artifacts.write(folder, "manifest.json", artifacts.manifest(project, tests))
    html = page.render(project, origins.read(project), facts)
    (folder / "index.html").write_text(html, "utf-8")
    print(folder / "index.html")
    return ExitCode.OK


def test_cases(project: Project) -> list[dict[str, Any]]:
    """The model tests of a project, as far as their files can be read."""
    found = []
    for path in _case_paths(project):
        try:
            case = cases.read(project, path)
        except InvalidProject as error:
            print(f"headrace: left out: {error.findings[0]}", file=sys.stderr)
            continue
        value = case.document.value
        fields = {"model": case.model.table, "name": PurePosixPath(path).stem, "path": path}
        expect = value["expect"].get("rows") or []
        found.append({**fields, "description": value.get("description", ""), "given": value["given"], "expect": expect})
    return found


def _case_paths(project: Project) -> Iterable[str]:
    return casefiles.paths(project.root, project.test_paths)


def _types(project: Project, layout: Layout) -> Schemas:
    """Spark's types: those of the files, else those of the last run."""
    of_last_run = {record.declared for record in declared.recorded(layout).values()}
    ran = {table: types for name in of_last_run for table, types in declared.read(layout, name).schemas.items()}
    return {**ran, **(known.types(project) or {})}


def _runner(project: Project, layout: Layout) -> str:
    from headrace.reading.status import read_status

    status = read_status(project, layout)
    since = f" since {status.project.started_at:%Y-%m-%d %H:%M UTC}" if status.project.started_at else ""
    return f"runner {status.project.state}{since}"
