"""One case, or one model over some records, run in one way."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from pydantic import TypeAdapter
from pyspark.sql import DataFrame

from headrace.project.model import Model, Project
from headrace.testing.cases.case import Batch, Case, Cut
from headrace.testing.cases.landing import Landed, land
from headrace.testing.cases.outcome import Outcome
from headrace.testing.runs import disk, memory
from headrace.testing.runs.cuts import parts
from headrace.testing.runs.sandbox import Sandbox
from headrace.testing.runs.scope import Scope, fits_memory, narrowed

_BATCHES = TypeAdapter(tuple[Batch, ...])

Given = Sequence[Mapping[str, Any]]
"""Landing batches as a case writes them."""


@dataclass(frozen=True)
class Models:
    """The models of a project, for tests in Python."""

    sandbox: Sandbox
    project: Project

    def rows(self, table: str, given: Given, **variables: Any) -> DataFrame:
        """A model's rows, without bookkeeping columns, after `given` landed, batch by batch: written as in a case."""
        return _plain(self.outcome(table, given, **variables).rows(self.project.model(table)))

    def outcome(self, tables: str | Sequence[str], given: Given, **variables: Any) -> Outcome:
        """The outcome of some tables after `given` landed, batch by batch: written as in a case."""
        names = [tables] if isinstance(tables, str) else tables
        project = replace(self.project, vars={**self.project.vars, **variables})
        return replace(self, project=project)._outcome(names, given, "one-by-one", seeds=False)

    def tables(
        self, names: Sequence[str], given: Given, cut: Cut = "one-by-one", seeds: bool = False
    ) -> dict[str, DataFrame]:
        """As `rows`, of several stored models at once, and in any cut."""
        outcome = self._outcome(names, given, cut, seeds)
        return {name: _plain(outcome.rows(self.project.model(name))) for name in names}

    def _outcome(self, names: Sequence[str], given: Given, cut: Cut, seeds: bool) -> Outcome:
        landed = land(self.sandbox.judge, self.project, _BATCHES.validate_python(given), seeds)
        return _run(self.sandbox, self.project, self.project.model(names[0]), names, landed, cut, Random(0))


def _plain(rows: DataFrame) -> DataFrame:
    return rows.select(*[name for name in rows.columns if not name.startswith("_")])


def outcome_of(sandbox: Sandbox, case: Case, landed: Landed, cut: Cut, random: Random) -> Outcome:
    """Run the queries that a case needs."""
    return _run(sandbox, case.project, case.model, case.tables, landed, cut, random)


def _run(
    sandbox: Sandbox, project: Project, model: Model, tables: Collection[str], landed: Landed, cut: Cut, random: Random
) -> Outcome:
    """Run the queries behind some tables; in memory if there are no restarts and no stored tables to read."""
    scope, numbers = Scope(sandbox, narrowed(project, tables), landed, tables), parts(cut, landed.count, random)
    if model.materialized == "view":
        return memory.run_view(scope, numbers, model, random)
    if cut == "restarts":
        return disk.run_with_restarts(scope, numbers, random)
    if fits_memory(scope.project):
        return memory.run_group(scope, numbers, random)
    return disk.run(scope, numbers)
