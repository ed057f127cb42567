"""Trying an upgrade: how the new text handles the state that the old one has left."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.commands.edits import differences
from headrace.commands.workspace import Workspace
from headrace.errors import ExitCode, UsageError
from headrace.planning import declared, known, plan
from headrace.project import selection
from headrace.project.model import Model, Project
from headrace.reading import printing

if TYPE_CHECKING:
    from headrace.testing.upgrade import Batches, Upgrade, Verdict


def test(
    workspace: Workspace, name: str, most: int, after: int | None, case: Path | None, examples: int, as_json: bool
) -> int:
    """Run the text that a query was started with, then the current files, and report whether that is safe."""
    project, layout = workspace.declared, workspace.layout
    model = _model(project, name)
    record = declared.record_of(layout, str(model.query))
    if record is None:
        raise UsageError(f"{model.query} has not been started yet; there is nothing to upgrade")
    from headrace.testing.runs.sandbox import Sandbox
    from headrace.testing.upgrade import upgrade

    sandbox = Sandbox(project.target.small_batches)
    try:
        tried = upgrade(sandbox, project, declared.read(layout, record.declared), model.table)
        batches = _batches(tried, most, case)
        split = len(batches) // 2 if after is None else after
        if not 0 < split < len(batches):
            raise UsageError(
                f"there are {len(batches)} batches; the new text must take over after one and before the last"
            )
        found = tried.judge(batches, split, examples)
        entries = plan.make(project, layout, known.types(project)).entries
        planned = next(entry.verdict for entry in entries if entry.name == model.table)
        result = {"model": model.table, "plan": planned, "batches": len(batches), "after": split, **asdict(found)}
        printing.write_lines([json.dumps(result)] if as_json else _lines(model, planned, split, len(batches), found))
    finally:
        sandbox.close()
    return ExitCode.OK if found.truth in ("SAME", "KEEP") else ExitCode.FAILED


def _model(project: Project, name: str) -> Model:
    (table, *others) = sorted(selection.select(project, [name]))
    model = project.model(table)
    if others:
        raise UsageError(f"{name} names several models: {table}, {', '.join(others)}; name one")
    if model.materialized in ("view", "snapshot"):
        raise UsageError(f"{table} is a {model.materialized}, which keeps no state; name a model that is made of it")
    return model


def _batches(tried: Upgrade, most: int, case: Path | None) -> Batches:
    from headrace.testing import upgrade
    from headrace.testing.cases.case import read

    if case is None:
        return upgrade.recorded_batches(tried.sandbox, tried, most)
    try:
        path = case.resolve().relative_to(tried.new.root.resolve())
    except ValueError:
        raise UsageError(f"{case} is no file of the project") from None
    return upgrade.batches_of(tried.sandbox, read(tried.new, path.as_posix()))


def _lines(model: Model, planned: str, after: int, batches: int, found: Verdict) -> Iterator[str]:
    yield f"{model.table}: {found.truth}: {found.why}"
    yield f"  the old text took {after} batches, the new one {batches - after}; the plan says {planned}"
    if found.difference is not None and found.truth == "MIX":
        yield from differences.lines(found.difference, "over the old state", "by the new text alone")
