"""`headrace test` before anything is run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from headrace.commands import testing
from headrace.commands.workspace import Workspace
from headrace.errors import EnvironmentFault, InvalidProject, UsageError
from tests.unit.test_casefiles import READY_CASE

if TYPE_CHECKING:
    from tests.unit.conftest import ProjectFiles


@pytest.fixture
def workspace(project_files: ProjectFiles) -> Workspace:
    return Workspace(project_files.root, "local")


def test_models_without_cases_are_reported(workspace: Workspace) -> None:
    with pytest.raises(UsageError, match="no selected model has a case"):
        testing.run_cases(workspace, ("shipment_ready",), (), None)


def test_folder_of_no_model_is_reported(project_files: ProjectFiles, workspace: Workspace) -> None:
    project_files.write("tests/models/shipment_ready/one.yml", READY_CASE)
    project_files.write("tests/models/shipment_redy/one.yml", READY_CASE)
    with pytest.raises(InvalidProject, match=r"shipment_redy:1:1: unknown-model: .* Did you mean shipment_ready\?"):
        testing.run_cases(workspace, (), (), None)


def test_wrong_java_is_reported_once(
    project_files: ProjectFiles, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    project_files.write("tests/models/shipment_ready/one.yml", READY_CASE)
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    with pytest.raises(EnvironmentFault, match="JAVA_HOME is /nowhere"):
        testing.run_cases(workspace, (), (), None)


def test_both_endings_of_yaml_are_collected(
    project_files: ProjectFiles, workspace: Workspace, capfd: pytest.CaptureFixture[str]
) -> None:
    for name in ("one.yml", "two.yaml"):
        project_files.write(f"tests/models/shipment_ready/{name}", READY_CASE)
    words = ["-p", "headrace.testing.plugin", "--collect-only", "-o", "headrace_target=local"]
    code = testing._pytest(workspace.folder, [*words, str(workspace.folder / "tests")], None)
    output = capfd.readouterr().out
    assert (code, "one.yml::[all-at-once]" in output, "two.yaml::[all-at-once]" in output) == (0, True, True)


def test_models_without_data_tests_are_reported(workspace: Workspace) -> None:
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
