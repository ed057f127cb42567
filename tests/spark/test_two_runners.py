"""Two runners of one query, one of which stops in the middle of a batch and goes on: each row is there once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace.errors import Overtaken
from headrace.project.model import Project
from headrace.queries.group import Group
from headrace.queries.inputs import InputLog
from headrace.running import factory
from headrace.store.layout import Layout
from headrace.tables.delta import CommitTable
from headrace.testing.cases import case as cases
from headrace.testing.cases.landing import land
from headrace.testing.runs.disk import land_batch
from headrace.testing.runs.scope import narrowed
from headrace.testing.runs.trial import Models
from tests.long import one_of

pytestmark = pytest.mark.spark

CASE = "tests/models/shipment_ready/order_before_its_products.yml"
POINTS = {
    "before the inputs are recorded": (InputLog, "record", "before"),
    "after the inputs are recorded": (InputLog, "record", "after"),
    "before a commit": (CommitTable, "append", "before"),
    "after a commit": (CommitTable, "append", "after"),
}


class Store:
    """The case's project and what it has stored, for as many runners as come."""

    def __init__(self, models: Models) -> None:
        file = next(Path(models.project.root).glob(CASE)).relative_to(models.project.root)
        case = cases.read(models.project, file.as_posix())
        self._sandbox, self._project = models.sandbox, case.project
        self._scope: Project = narrowed(case.project, case.tables)
        self._layout: Layout = models.sandbox.layout(case.project)
        self._batches = land(models.sandbox.judge, case.project, case.given, case.seeds).batches

    def runner(self) -> Group:
        """A runner that knows only what is stored."""
        schemas = self._sandbox.schemas(self._project)
        (query,) = self._scope.queries
        found = factory.make(self._sandbox.spark, self._project, self._layout, query, schemas)
        assert isinstance(found, Group)
        return found

    def landing(self) -> Iterator[int]:
        """Land batch after batch."""
        for number, batch in enumerate(self._batches):
            land_batch(self._sandbox, self._layout, batch)
            yield number

    def rows(self) -> dict[str, list[str]]:
        """All that is stored."""
        stored = [model for query in self._scope.queries for model in query.models]
        paths = [self._layout.appended(model.table, model.materialized == "upsert") for model in stored]
        read = self._sandbox.spark.read.format("delta")
        return {path.name: sorted(str(row) for row in read.load(str(path)).collect()) for path in paths}


def finish(runner: Group) -> None:
    while runner.step(1_000_000):
        pass


def stop_at(monkeypatch: pytest.MonkeyPatch, point: str, meanwhile: Any) -> None:
    """Let whoever comes to a point first stop there, until something else is done."""
    owner, name, when = POINTS[point]
    work = getattr(owner, name)

    def stopped(self: Any, *words: Any) -> Any:
        monkeypatch.setattr(owner, name, work)
        if when == "before":
            meanwhile()
        done = work(self, *words)
        if when == "after":
            meanwhile()
        return done

    monkeypatch.setattr(owner, name, stopped)


@pytest.fixture(scope="module")
def due(models: Models) -> dict[str, list[str]]:
    """What one runner alone stores."""
    store = Store(models)
    runner = store.runner()
    for _ in store.landing():
        finish(runner)
    return store.rows()


@pytest.mark.parametrize("point", one_of(4, POINTS))
def test_overtaken_runner_doubles_nothing(
    models: Models, due: dict[str, list[str]], monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    store = Store(models)
    stopped, other = store.runner(), store.runner()
    for _ in store.landing():
        stop_at(monkeypatch, point, lambda: finish(other))
        try:
            finish(stopped)
        except Overtaken:
            finish(stopped)
        other.drop()
    assert all(due.values()) and store.rows() == due
