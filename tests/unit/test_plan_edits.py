"""The verdict on every scenario of the edit corpus and its place, without Spark; tests/plan has what truly happens."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from headrace.planning.declared import Declared
from headrace.project.model import Project
from tests.plan.corpus import BASE, HARMLESS, Scenario, outcomes, project, scenarios, version
from tests.plan.places import misplaced, obscure


@pytest.fixture(scope="module")
def load_old(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Project]:
    """Loads an old text once for all scenarios that start with it."""
    by_start = {scenario.start: scenario for scenario in scenarios()}

    @cache
    def load(start: str) -> Project:
        return project(by_start[start].old, tmp_path_factory.mktemp("old"))

    return load


@pytest.mark.parametrize("scenario", scenarios(), ids=lambda scenario: scenario.name)
def test_edit_has_its_verdict_where_it_stands(
    scenario: Scenario, load_old: Callable[[str], Project], tmp_path: Path
) -> None:
    old = Declared.of(load_old(scenario.start), scenario.types)
    found = outcomes(old, project(scenario.new, tmp_path))
    assert found[scenario.model].verdict.name == scenario.verdict, found[scenario.model].reasons
    reasons = [reason for outcome in found.values() for reason in outcome.reasons]
    assert misplaced(reasons, scenario.old, scenario.new) == obscure(reasons) == []


def test_no_verdict_promises_more_than_the_truth() -> None:
    found = [scenario for scenario in scenarios() if scenario.truth is not None]
    assert [each.name for each in found if each.truth not in HARMLESS.get(each.verdict, {each.truth})] == []


def test_truth_is_measured_or_says_why_not() -> None:
    assert [each.name for each in scenarios() if (each.truth is None) == (each.unmeasured is None)] == []


def test_version_without_a_manifest_is_laid_over_the_base(tmp_path: Path) -> None:
    (tmp_path / "own.sql").write_text("select 1")
    assert version(tmp_path) == {**BASE, "own.sql": "select 1"}


def test_version_with_a_manifest_is_a_whole_project(tmp_path: Path) -> None:
    (tmp_path / "manifest.yml").write_text("name: own")
    assert version(tmp_path) == {"manifest.yml": "name: own"}
