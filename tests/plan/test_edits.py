"""Every scenario of the edit corpus on real checkpoints and tables: what truly happens, against what the plan says."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.checking import verdict
from headrace.testing.runs.sandbox import Sandbox
from tests.long import one_of
from tests.plan.corpus import HARMLESS, Scenario, project, scenarios
from tests.plan.trial import Trials

pytestmark = pytest.mark.spark

MEASURED = [scenario for scenario in scenarios() if scenario.truth is not None]
LIGHT = [scenario for scenario in MEASURED if scenario.verdict in HARMLESS]
"""Those that need no confirmation: if one of these verdicts were wrong, rows would be. Every run tries them all."""
HEAVY = [scenario for scenario in MEASURED if scenario.verdict not in HARMLESS]
CASES = [*LIGHT, *one_of(24, HEAVY)]
BEGINNINGS = {(scenario.start, repr(scenario.types)): scenario for scenario in scenarios()}


@pytest.fixture(scope="module")
def trials(
    request: pytest.FixtureRequest, sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Trials]:
    named = {item.name for item in request.session.items if item.path == request.path}
    chosen = [each for each in MEASURED if f"{test_plan_says_what_truly_happens.__name__}[{each.name}]" in named]
    made = Trials(sandbox, tmp_path_factory.mktemp("plan"), chosen)
    yield made
    made.close()


@pytest.mark.parametrize("scenario", CASES, ids=lambda scenario: scenario.name)
def test_plan_says_what_truly_happens(scenario: Scenario, trials: Trials) -> None:
    found = trials.found(scenario)
    assert found.truth in HARMLESS.get(found.verdict, {found.truth}), found.error
    assert (found.verdict, found.truth) == (scenario.verdict, scenario.truth), found.error


@pytest.mark.parametrize("scenario", one_of(3, BEGINNINGS.values()), ids=lambda scenario: scenario.name)
def test_types_are_those_of_spark(scenario: Scenario, sandbox: Sandbox, tmp_path: Path) -> None:
    found = verdict.types(sandbox.schemas(project(scenario.old, tmp_path)))
    assert {table: found[table] for table in scenario.types} == scenario.types
