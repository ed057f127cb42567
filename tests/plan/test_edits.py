"""Every edit of the corpus on real checkpoints and tables: what truly happens, against what the plan says."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.testing.runs.sandbox import Sandbox
from tests.long import one_of
from tests.plan.corpus import Edit, Shape, edits, project, shapes
from tests.plan.trial import Trials

pytestmark = pytest.mark.spark

HARMLESS = {"SAME": {"right"}, "KEEP": {"right", "kept"}}
"""What may come of an edit that needs no confirmation."""


def light() -> list[Edit]:
    """The edits that need no confirmation: if one of these verdicts were wrong, rows would be."""
    return [edit for edit in edits() if edit.verdict in HARMLESS]


def heavy() -> list[Edit]:
    return [edit for edit in edits() if edit.verdict not in HARMLESS]


@pytest.fixture(scope="module")
def trials(
    request: pytest.FixtureRequest, sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Trials]:
    named = {item.name for item in request.session.items if item.path == request.path}
    chosen = [edit for edit in edits() if f"{test_plan_says_what_truly_happens.__name__}[{edit.title}]" in named]
    made = Trials(sandbox, tmp_path_factory.mktemp("plan"), chosen)
    yield made
    made.close()


@pytest.mark.parametrize("edit", [*one_of(3, light()), *one_of(12, heavy())], ids=lambda edit: edit.title)
def test_plan_says_what_truly_happens(edit: Edit, trials: Trials) -> None:
    found = trials.found(edit)
    assert found.truth in HARMLESS.get(found.verdict, {found.truth}), found.error
    assert (found.verdict, found.truth) == (edit.verdict, edit.truth), found.error


@pytest.mark.parametrize("shape", shapes(), ids=lambda shape: shape.name)
def test_types_of_a_shape_are_those_of_spark(shape: Shape, sandbox: Sandbox, tmp_path: Path) -> None:
    found = sandbox.schemas(project(shape.files, tmp_path))
    types = {table: {field.name: field.dataType.simpleString() for field in found[table]} for table in shape.schemas}
    assert types == shape.schemas
