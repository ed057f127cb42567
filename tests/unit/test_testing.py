"""`headrace test` before anything is run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from headrace.commands import testing
from headrace.commands.workspace import Workspace
from headrace.errors import UsageError

if TYPE_CHECKING:
    from tests.unit.conftest import ProjectFiles


@pytest.fixture
def workspace(project_files: ProjectFiles) -> Workspace:
    return Workspace(project_files.root, "local")


def test_models_without_cases_are_told(workspace: Workspace) -> None:
    with pytest.raises(UsageError, match="no selected model has a case"):
        testing.run_cases(workspace, ("shipment_ready",), (), None)


def test_models_without_data_tests_are_told(workspace: Workspace) -> None:
    with pytest.raises(UsageError, match="no selected model has `tests`"):
        testing.run_data_tests(workspace, (), (), None)


@pytest.mark.parametrize(("table", "batches"), [("silver.orders", 0), ("shipping", 1), ("silver.nothing", 1)])
def test_recording_takes_one_model_and_some_batches(workspace: Workspace, table: str, batches: int) -> None:
    with pytest.raises(UsageError):
        testing.record(workspace, table, batches)


@pytest.mark.parametrize(("targets", "expected"), [((), "local"), (("test",), "test")])
def test_cases_have_the_variables_of_the_target_test(
    project_files: ProjectFiles, workspace: Workspace, targets: tuple[str, ...], expected: str
) -> None:
    for name in targets:
        project_files.write(f"conf/{name}.yml", "")
    assert testing._target_of_cases(workspace) == expected
