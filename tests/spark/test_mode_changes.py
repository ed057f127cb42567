"""A project may run its small batches in one way and go on in the other: tables and state are the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import cycle
from pathlib import Path

import pytest

from headrace.project.model import Project
from headrace.queries.group import Group
from headrace.running import factory
from headrace.spark import mode
from headrace.testing.cases import case as cases
from headrace.testing.cases.landing import land
from headrace.testing.runs.disk import land_batch
from headrace.testing.runs.scope import narrowed
from headrace.testing.runs.trial import Models
from tests.long import one_of

pytestmark = pytest.mark.spark

CASES = (
    "tests/models/shipment_ready/order_before_its_products.yml",
    "tests/models/order_outcomes/verdicts_of_others.yml",
)


@pytest.fixture(autouse=True)
def former_mode(models: Models) -> Iterator[None]:
    spark = models.sandbox.spark
    former = str(spark.conf.get(mode.KEY, "driver"))
    yield
    spark.conf.set(mode.KEY, former)


def rows(models: Models, scope: Project, case: cases.Case, modes: Sequence[str]) -> dict[str, list[str]]:
    """All that is stored after each landing batch has been processed by queries that know only what is stored."""
    sandbox, layout = models.sandbox, models.sandbox.layout(case.project)
    schemas, order = sandbox.schemas(case.project), cycle(modes)
    for batch in land(sandbox.judge, case.project, case.given, case.seeds).batches:
        land_batch(sandbox, layout, batch)
        sandbox.spark.conf.set(mode.KEY, next(order))
        for query in scope.queries:
            found = factory.make(sandbox.spark, case.project, layout, query, schemas)
            assert isinstance(found, Group)
            while found.step(1_000_000):
                pass
            found.rest()
            found.drop()
    stored = [
        layout.appended(model.table, model.materialized == "upsert")
        for model in scope.models
        if model.materialized != "view"
    ]
    read = sandbox.spark.read.format("delta")
    return {path.name: sorted(map(str, read.load(str(path)).collect())) for path in stored}


@pytest.mark.long
@pytest.mark.parametrize("path", one_of(2, CASES))
def test_rows_and_state_are_those_of_either_alone(models: Models, path: str) -> None:
    file = next(Path(models.project.root).glob(path)).relative_to(models.project.root)
    case = cases.read(models.project, file.as_posix())
    scope = narrowed(case.project, case.tables)
    due = rows(models, scope, case, ["driver"])
    assert any(due.values()) and len(case.given) > 2  # so both changes of the mode occur
    assert rows(models, scope, case, ["driver", "jobs"]) == due
