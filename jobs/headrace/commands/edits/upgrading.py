"""Trying an upgrade: how the new text handles the state that the old one has left."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
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

BATCHES = 20
"""How many of the newest batches are tried by default."""

EXAMPLES = 20
"""How many differing rows are shown at most by default."""


@dataclass(frozen=True)
class Proof:
    """What the plan says of an edit, and what some batches show."""

    model: str
    plan: str
    batches: int
    after: int
    found: Verdict

    @property
    def contradicts(self) -> bool:
        """Whether the plan promises what is not so."""
        from headrace.testing.upgrade import contradicts

        return contradicts(self.found.truth, self.plan)

    def lines(self) -> Iterator[str]:
        """The proof in words, with the rows that differ."""
        yield f"{self.model}: {self.found.truth}: {self.found.why}"
        after = self.batches - self.after
        yield f"  the old text took {self.after} batches, the new one {after}; the plan says {self.plan}"
        if self.contradicts:
            case = f"headrace test --record {self.model} {self.batches}"
            yield f"  the plan is wrong: do not start this edit, and report it with the case that `{case}` writes"
        if self.found.difference is not None and self.found.truth == "MIX":
            yield from differences.lines(self.found.difference, "over the old state", "by the new text alone")

    def print(self, as_json: bool) -> None:
        """Write the proof to stdout."""
        printing.write_lines([self.as_json()] if as_json else self.lines())

    def as_json(self) -> str:
        """The proof as one object."""
        known = {name: value for name, value in vars(self).items() if name != "found"}
        return json.dumps({**known, "contradicts": self.contradicts, **asdict(self.found)})


def test(
    workspace: Workspace, name: str, most: int, after: int | None, case: Path | None, examples: int, as_json: bool
) -> int:
    """Run the text that a query was started with, then the current files, and report whether that is safe."""
    found = _proven(workspace, name, most, after, case, examples)
    found.print(as_json)
    return ExitCode.OK if found.found.truth in ("SAME", "KEEP") else ExitCode.FAILED


def prove(workspace: Workspace, name: str, as_json: bool) -> int:
    """The same over the newest batches that have landed; the exit code shows whether the plan is borne out."""
    found = _proven(workspace, name, BATCHES, None, None, EXAMPLES)
    found.print(as_json)
    return ExitCode.FAILED if found.contradicts else ExitCode.OK


def _proven(workspace: Workspace, name: str, most: int, after: int | None, case: Path | None, examples: int) -> Proof:
    project, layout = workspace.declared, workspace.layout
    model = _model(project, name)
    record = declared.record_of(layout, str(model.query))
    if record is None:
        raise UsageError(f"{model.query} has not been started yet; there is nothing to upgrade")
    from headrace.testing.runs.sandbox import Sandbox
    from headrace.testing.upgrade import upgrade

    planned = next(
        each for each in plan.make(project, layout, known.types(project)).entries if each.name == model.table
    )
    sandbox = Sandbox(project.target.small_batches)
    try:
        tried = upgrade(sandbox, project, declared.read(layout, record.declared), model.table)
        batches = _batches(tried, most, case)
        split = len(batches) // 2 if after is None else after
        if not 0 < split < len(batches):
            raise UsageError(
                f"there are {len(batches)} batches; the new text must take over after one and before the last"
            )
        return Proof(model.table, planned.verdict, len(batches), split, tried.judge(batches, split, examples))
    finally:
        sandbox.close()


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
