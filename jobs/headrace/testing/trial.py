"""One case, or one model over some records, run in one way."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from pydantic import TypeAdapter
from pyspark.sql import DataFrame

from headrace.project.model import Model, Project
from headrace.testing import disk, memory
from headrace.testing.case import Batch, Case, Cut
from headrace.testing.cuts import parts
from headrace.testing.landed import Landed, land
from headrace.testing.outcome import Outcome
from headrace.testing.sandbox import Sandbox
from headrace.testing.scope import fits_memory, narrowed

_BATCHES = TypeAdapter(tuple[Batch, ...])


@dataclass(frozen=True)
class Models:
    """The models of a project, for tests in Python."""

    sandbox: Sandbox
    project: Project

    def rows(self, table: str, given: Sequence[Mapping[str, Any]], **variables: Any) -> DataFrame:
        """A model's rows, without bookkeeping columns, after `given` landed, batch by batch: written as in a case."""
        project = replace(self.project, vars={**self.project.vars, **variables})
        landed, model = land(self.sandbox.spark, project, _BATCHES.validate_python(given)), project.model(table)
        rows = _run(self.sandbox, project, model, [table], landed, "one-by-one", Random(0)).rows(model)
        return rows.select(*[name for name in rows.columns if not name.startswith("_")])


def outcome_of(sandbox: Sandbox, case: Case, landed: Landed, cut: Cut, random: Random) -> Outcome:
    """Run the queries that a case needs."""
    return _run(sandbox, case.project, case.model, case.tables, landed, cut, random)


def _run(
    sandbox: Sandbox, project: Project, model: Model, tables: Iterable[str], landed: Landed, cut: Cut, random: Random
) -> Outcome:
    """Run the queries behind some tables; without stored ones where nothing is restarted and none is read."""
    project, numbers = narrowed(project, tables), parts(cut, landed.count, random)
    if model.materialized == "view":
        return memory.run_view(sandbox, project, landed, numbers, model, random)
    if cut == "restarts":
        return disk.run_with_restarts(sandbox, project, landed, numbers, random)
    if len(project.queries) == 1 and fits_memory(project, project.queries[0]):
        return memory.run_group(sandbox, project, landed, numbers, random)
    return disk.run(sandbox, project, landed, numbers)
