"""Edits of the branches of a `union all` on real checkpoints and tables: what truly happens, against the plan."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.project.model import Project
from headrace.store.layout import Layout
from headrace.testing.runs.sandbox import Sandbox
from tests.long import long
from tests.plan.corpus import Edit, Shape, edits_of
from tests.plan.trial import Old, Run, Trials

pytestmark = pytest.mark.spark

EDITS = edits_of("unions.yml")
GOING_ON = [edit for edit in EDITS if "a second source" in edit.name and edit.verdict in ("KEEP", "FORWARD")]
CHOSEN = ("single: a second source first", "batches: the other way round")
"""Those that every run tests."""


class Killed(Trials):
    """Trials in which the last batch of the old text is not committed in the checkpoint."""

    def _resumed(self, shape: Shape, new: Project, layout: Layout, old: Old) -> Run:
        left = Layout(layout.data_dir.parent / "left")
        shutil.copytree(old.left.data_dir, left.data_dir)
        (commits,) = left.checkpoints.glob("*/commits")
        newest = max((each for each in commits.iterdir() if each.name.isdigit()), key=lambda each: int(each.name))
        newest.unlink()
        (commits / f".{newest.name}.crc").unlink()
        return super()._resumed(shape, new, layout, Old(old.project, old.types, left, old.run))


@pytest.fixture(scope="module")
def trials(
    request: pytest.FixtureRequest, sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Trials]:
    names = {item.name for item in request.session.items if item.path == request.path}
    chosen = [edit for edit in EDITS if f"{test_plan_says_what_truly_happens.__name__}[{edit.title}]" in names]
    made = Trials(sandbox, tmp_path_factory.mktemp("unions"), chosen)
    yield made
    made.close()


@pytest.mark.parametrize(
    "edit", [edit if edit.title in CHOSEN else long(edit) for edit in EDITS], ids=lambda edit: edit.title
)
def test_plan_says_what_truly_happens(edit: Edit, trials: Trials) -> None:
    found = trials.found(edit)
    assert (found.verdict, found.truth) == (edit.verdict, edit.truth), found.error


@pytest.mark.long
def test_source_is_added_over_a_batch_that_was_not_committed(sandbox: Sandbox, tmp_path: Path) -> None:
    trials = Killed(sandbox, tmp_path, GOING_ON)
    found = {edit.title: (trials.found(edit).verdict, trials.found(edit).truth) for edit in GOING_ON}
    trials.close()
    assert found == {edit.title: (edit.verdict, edit.truth) for edit in GOING_ON}
