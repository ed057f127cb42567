"""One case run in one way."""

from __future__ import annotations

from random import Random

from headrace.testing import disk, memory
from headrace.testing.case import Case, Cut
from headrace.testing.cuts import parts
from headrace.testing.landed import Landed
from headrace.testing.outcome import Outcome
from headrace.testing.sandbox import Sandbox
from headrace.testing.scope import fits_memory, narrowed


def outcome_of(sandbox: Sandbox, case: Case, landed: Landed, cut: Cut, random: Random) -> Outcome:
    """Run the queries that a case needs; without tables where nothing is restarted and none is read."""
    project = narrowed(case.project, case.tables)
    numbers = parts(cut, landed.count, random)
    if case.model.materialized == "view":
        return memory.run_view(sandbox, project, landed, numbers, case.model, random)
    if cut == "restarts":
        return disk.run_with_restarts(sandbox, project, landed, numbers, random)
    if len(project.queries) == 1 and fits_memory(project, project.queries[0]):
        return memory.run_group(sandbox, project, landed, numbers, random)
    return disk.run(sandbox, project, landed, numbers)
