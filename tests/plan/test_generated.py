"""Random edits of the demo's models: a run that the plan lets go on gives the rows that its verdicts promise."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from headrace.testing.runs.sandbox import Sandbox
from tests.long import long
from tests.plan.generated import domains, generator
from tests.plan.generated.experiment import Experiment

pytestmark = pytest.mark.spark

EVENTS = 40
SMALL = ("shipping", "sales", "calls")
"""The domains whose edits every run tries; the others, with more models, take longer."""
FEW, MANY = 40, 500
SAMPLE = 4
"""Of so many edits that would stop a run one is tried all the same, to find false alarms."""


@pytest.fixture(scope="module")
def experiment(sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Experiment]]:
    made: dict[str, Experiment] = {}

    def of(domain: str) -> Experiment:
        if domain not in made:
            made[domain] = Experiment(sandbox, tmp_path_factory.mktemp("generated"), domain, EVENTS)
        return made[domain]

    yield of


@pytest.mark.parametrize(
    ("seed", "among"),
    [*((seed, SMALL) for seed in range(FEW)), *(long(seed, domains.DOMAINS) for seed in range(FEW, FEW + MANY))],
    ids=lambda value: str(value) if isinstance(value, int) else "",
)
def test_rows_are_as_the_verdict_promises(
    seed: int,
    among: tuple[str, ...],
    experiment: Callable[[str], Experiment],
    record_property: Callable[[str, object], None],
) -> None:
    edit = generator.edit(seed, among)
    found = experiment(edit.domain).finding(edit, always=seed % SAMPLE == 0)
    record_property("edit", found.summary)
    assert found.truth != "wrong", f"{edit.title}\n{edit.difference}\n{found.detail}"
