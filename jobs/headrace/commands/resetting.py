"""Forgetting a query: its progress and its output go together, what it had published is not sent again."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from headrace.commands.workspace import Workspace
from headrace.environment.lock import runner_lock
from headrace.errors import ExitCode, UsageError, did_you_mean
from headrace.layout import Layout
from headrace.project.model import Model, Project


def reset(workspace: Workspace, query: str, yes: bool, start: str | None, republish: bool) -> int:
    """Remove what a query has stored; without `yes` only say what that is."""
    project, layout = workspace.declared, workspace.layout
    paths = [path for path in _stored(project, layout, query) if path.exists()]
    for path in paths:
        print(f"{'removing' if yes else 'would remove'} {path}", file=sys.stderr)
    if not yes:
        print("nothing was changed; say --yes to do it", file=sys.stderr)
        return ExitCode.OK
    with runner_lock(layout.locks):
        _forget(project, layout, query, paths, start, republish)
    return ExitCode.OK


def _forget(
    project: Project, layout: Layout, query: str, paths: Iterable[Path], start: str | None, republish: bool
) -> None:
    for path in paths:
        shutil.rmtree(path)
    note = layout.checkpoint(query)
    note.mkdir(parents=True, exist_ok=True)
    (note / "reset.json").write_text(json.dumps({"from": _start(start), "republish": republish}))


def _start(text: str | None) -> object:
    if text is None or text in ("earliest", "latest"):
        return text
    try:
        return json.loads(text)
    except ValueError:
        raise UsageError('--from takes earliest, latest or offsets such as {"logs": {"0": 120}}') from None


def _stored(project: Project, layout: Layout, name: str) -> Iterator[Path]:
    for landing in project.landings:
        if landing.query == name:
            yield layout.landing(landing.name)
            return
    known = {query.name: query for query in project.queries}
    if name not in known:
        names = [*known, *(landing.query for landing in project.landings)]
        raise UsageError(f"no query {name}; there are {', '.join(names)}.{did_you_mean(name, names)}")
    yield layout.checkpoint(name)
    for model in known[name].models:
        yield from _tables(layout, model)


def _tables(layout: Layout, model: Model) -> Iterator[Path]:
    yield layout.table(model.table)
    if model.materialized == "upsert":
        yield layout.changes(model.table)
