"""One more branch of a union in the streaming engine, over a checkpoint whose last batch was not committed."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from headrace.project.model import Project
from headrace.store.layout import Layout
from headrace.testing.runs.sandbox import Sandbox
from tests.plan.corpus import Scenario, scenarios
from tests.plan.trial import Old, Run, Trials

pytestmark = [pytest.mark.spark, pytest.mark.long]

GOING_ON = [
    scenario
    for scenario in scenarios()
    if scenario.name.startswith("union-") and "a-second-source" in scenario.name and scenario.verdict != "RESET"
]


class Killed(Trials):
    """Trials in which the last batch of the old text is not committed in the checkpoint."""

    def _resumed(self, scenario: Scenario, new: Project, layout: Layout, old: Old) -> Run:
        left = Layout(layout.data_dir.parent / "left")
        shutil.copytree(old.left.data_dir, left.data_dir)
        (commits,) = left.checkpoints.glob("*/commits")
        newest = max((each for each in commits.iterdir() if each.name.isdigit()), key=lambda each: int(each.name))
        newest.unlink()
        (commits / f".{newest.name}.crc").unlink()
        return super()._resumed(scenario, new, layout, Old(old.declared, left, old.before, old.after))


def test_source_is_added_over_a_batch_that_was_not_committed(sandbox: Sandbox, tmp_path: Path) -> None:
    trials = Killed(sandbox, tmp_path, GOING_ON)
    found = {each.name: (trials.found(each).verdict, trials.found(each).truth) for each in GOING_ON}
    trials.close()
    assert found == {each.name: (each.verdict, each.truth) for each in GOING_ON}
    assert len(found) == 4
