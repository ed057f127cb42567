"""Tests of a project: cases and cuts run by pytest in this process, data tests over what is stored, recorded cases."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from random import randrange
from typing import TYPE_CHECKING, Any

from headrace.commands.workspace import Workspace
from headrace.environment.java import find_java
from headrace.errors import ExitCode, InvalidProject, UsageError
from headrace.project import loader, selection
from headrace.project.declarations import manifest, target
from headrace.project.model import Model, Project
from headrace.testing.cases import casefiles

if TYPE_CHECKING:
    from headrace.testing.cut_trials.items import CutTests

CUT_DEPENDENT = "cut-dependent"
_OPTIONS = ("-c", os.devnull, "--noconftest", "--import-mode=importlib", "-p", "no:cacheprovider", "-q", "-rxX")
"""Nothing but the cases counts: no settings, fixtures or caches of the project's own tests."""


def run_all(
    workspace: Workspace, select: tuple[str, ...], exclude: tuple[str, ...], junit: Path | None, seed: int | None = None
) -> int:
    """Run the cases of the selected models, then try each of them that is stored in several cuts."""
    project = workspace.declared
    models = _selected(project, select, exclude)
    _refuse_strays(project)
    find_java()  # else each test would report the same error
    arguments = _case_arguments(workspace, models)
    tests = _cut_tests(loader.load(project.root, _target_of_cases(workspace)), models, seed, strict=False)
    return _pytest(project.root, [*arguments, *(tests.paths if tests else [])], junit, *([tests] if tests else []))


def run_cuts(
    workspace: Workspace, select: tuple[str, ...], exclude: tuple[str, ...], junit: Path | None, seed: int | None = None
) -> int:
    """Try the selected stored models in several cuts, also those that `check` reports as dependent on them."""
    project = loader.load(workspace.folder, _target_of_cases(workspace), ignored=[CUT_DEPENDENT])
    find_java()
    tests = _cut_tests(project, _selected(project, select, exclude), seed, strict=True)
    if tests is None:
        raise UsageError("no selected model is stored; views have no rows of their own")
    return _pytest(project.root, tests.paths, junit, tests)


def run_cases(workspace: Workspace, select: tuple[str, ...], exclude: tuple[str, ...], junit: Path | None) -> int:
    """Run the cases of the selected models, with the variables of the target `test`, if there is one."""
    models = _selected(workspace.declared, select, exclude)
    _refuse_strays(workspace.declared)
    arguments = _case_arguments(workspace, models)
    if not arguments:
        raise UsageError("no selected model has a case; write one, or record one: --record <model> <batches>")
    find_java()  # else each case would report the same error
    return _pytest(workspace.declared.root, arguments, junit)


def run_data_tests(workspace: Workspace, select: tuple[str, ...], exclude: tuple[str, ...], junit: Path | None) -> int:
    """Run the data tests of the selected models over all rows that are stored now."""
    models = [model for model in _selected(workspace.declared, select, exclude) if model.tests]
    if not models:
        raise UsageError("no selected model has `tests` in its header")
    from headrace.spark import session
    from headrace.testing.stored import StoredTests

    project = workspace.declared
    spark = session.start(project.target, project.target.layout.spark_log())
    try:
        paths = [str(project.root / model.path) for model in models]
        return _pytest(project.root, paths, junit, StoredTests(spark, project))
    finally:
        spark.stop()


def record(workspace: Workspace, table: str, batches: int) -> int:
    """Write a case from what last landed for a model, and print its path."""
    if batches < 1:
        raise UsageError("--record takes a model and how many of the last landing batches, at least 1")
    model = _model(workspace.declared, table)
    from headrace.testing.recording import write_case
    from headrace.testing.runs.sandbox import Sandbox

    sandbox = Sandbox(workspace.declared.target.small_batches)
    try:
        path = write_case(sandbox, workspace.declared, model, batches)
    finally:
        sandbox.close()
    print(path.relative_to(workspace.declared.root).as_posix())
    return ExitCode.OK


def _model(project: Project, name: str) -> Model:
    (table, *others) = sorted(selection.select(project, [name]))
    if others:
        raise UsageError(f"{name} names several models; --record takes one")
    return project.model(table)


def _selected(project: Project, select: tuple[str, ...], exclude: tuple[str, ...]) -> list[Model]:
    chosen = selection.select(project, select, exclude)
    return [model for model in project.models if model.table in chosen]


def _refuse_strays(project: Project) -> None:
    """Refuse cases that no selection reaches: they would be skipped silently."""
    names = {model.name for model in project.models}
    if found := [*casefiles.strays(project.root, project.test_paths, names)]:
        raise InvalidProject(found)


def _case_folders(project: Project, model: Model) -> list[Path]:
    """The folders of a model's cases; models of two layers may share a name and so a folder."""
    return [folder for path in project.test_paths if (folder := project.root / path / model.name).is_dir()]


def _case_arguments(workspace: Workspace, models: Sequence[Model]) -> list[str]:
    """The arguments with which pytest runs the cases of some models; empty if they have none."""
    folders = [folder for model in models for folder in _case_folders(workspace.declared, model)]
    arguments = ["-p", "headrace.testing.plugin", "-o", f"headrace_target={_target_of_cases(workspace)}"]
    return [*arguments, *map(str, folders)] if folders else []


def _cut_tests(project: Project, models: Sequence[Model], seed: int | None, strict: bool) -> CutTests | None:
    from headrace.testing.cut_trials.items import CutTests

    tables = [model.table for model in models if model.materialized != "view"]
    chosen = randrange(1_000_000) if seed is None else seed
    return CutTests(project, tables, chosen, strict) if tables else None


def _target_of_cases(workspace: Workspace) -> str:
    has_own = workspace.target == "local" and "test" in target.target_names(manifest.find_root(workspace.folder))
    return "test" if has_own else workspace.target


def _pytest(root: Path, arguments: Sequence[str], junit: Path | None, *plugins: object) -> int:
    """Run pytest; its exit codes become ours."""
    import pytest

    watch = _Watch()
    junit_options = [f"--junitxml={junit.absolute()}", "-o", "junit_family=xunit2"] if junit else []
    code = int(pytest.main([*_OPTIONS, f"--rootdir={root}", *junit_options, *arguments], plugins=[*plugins, watch]))
    if watch.interrupted:
        return 130
    if code == pytest.ExitCode.INTERRUPTED:  # cases that cannot be read
        return ExitCode.INVALID
    if code == pytest.ExitCode.NO_TESTS_COLLECTED:
        print("headrace: nothing was tested", file=sys.stderr)
        return ExitCode.USAGE
    return ExitCode.FAILED if code else ExitCode.OK


class _Watch:
    """Distinguishes Ctrl-C from cases that cannot be read: pytest has one exit code for both."""

    interrupted = False

    def pytest_keyboard_interrupt(self, excinfo: Any) -> None:
        """Remember it."""
        self.interrupted = type(excinfo.value) is KeyboardInterrupt  # pytest's own are of this kind too
