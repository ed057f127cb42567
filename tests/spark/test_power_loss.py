"""Batches of shipping whose files Spark writes, and the power going at every moment: what was told is there."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from headrace.project.model import Project
from headrace.queries.group import Group
from headrace.store.commits import newest_version
from headrace.store.layout import Layout
from headrace.testing.cases import case as cases
from headrace.testing.cases.landing import land
from headrace.testing.runs.disk import land_batch
from headrace.testing.runs.scope import narrowed
from headrace.testing.runs.trial import Models
from tests import power
from tests.power import Step

pytestmark = pytest.mark.spark

CASE = "tests/models/shipment_ready/order_before_its_products.yml"
RESTARTS = 12


class Shipping:
    """The case's project over a data directory."""

    def __init__(self, models: Models) -> None:
        case = cases.read(models.project, CASE)
        self._sandbox, self._project = models.sandbox, case.project
        self._scope: Project = narrowed(case.project, case.tables)
        self._batches = land(models.sandbox.judge, case.project, case.given, case.seeds).batches

    def layout(self) -> Layout:
        """A new data directory."""
        return self._sandbox.layout(self._project)

    def group(self, layout: Layout) -> Group:
        """The only query, which knows only what is stored."""
        (query,) = self._scope.queries
        found = self._sandbox.query(self._project, layout, query)
        assert isinstance(found, Group)
        return found

    def release(self, group: Group) -> None:
        self._sandbox.release(group)

    def landing(self, layout: Layout) -> Iterator[Step]:
        """Land what has not landed, batch by batch."""
        for batch in self._batches:
            if newest_version(layout.landing(batch.landing)) <= batch.number:
                yield lambda batch=batch: land_batch(self._sandbox, layout, batch)

    def tables(self, layout: Layout) -> list[Path]:
        """The logs that are appended to, the landing first."""
        stored = [model for query in self._scope.queries for model in query.models]
        appended = [layout.appended(model.table, model.materialized == "upsert") for model in stored]
        return [path for path in (layout.landing("shipping"), *appended) if isinstance(path, Path)]

    def rows(self, layout: Layout) -> list[list[str]]:
        """All that is stored."""
        read = self._sandbox.spark.read.format("delta")
        return [sorted(str(row) for row in read.load(str(path)).collect()) for path in self.tables(layout)]


def finish(group: Group) -> None:
    while group.step(1_000_000):
        pass


def test_shipping_goes_on_from_whatever_a_power_loss_leaves(models: Models, tmp_path: Path) -> None:
    shipping = Shipping(models)
    layout = shipping.layout()
    group, told = shipping.group(layout), list[list[int]]()

    def done(step: Step) -> None:
        step()
        told.append([newest_version(path) + 1 for path in shipping.tables(layout)])

    finish(group)  # recovered, before anything is recorded
    told.append([newest_version(path) + 1 for path in shipping.tables(layout)])
    steps: list[Step] = []
    for landed in shipping.landing(layout):
        steps += [lambda landed=landed: done(landed), lambda: done(lambda: finish(group))]
    steps.append(lambda: done(group.rest))
    states = [*power.record(layout.data_dir, steps).states().items()]
    shipping.release(group)
    due, whole = shipping.rows(layout), power.read(layout.data_dir)
    tables = [str(path.relative_to(layout.data_dir)) for path in shipping.tables(layout)]

    for state, so_far in states:
        for table, least in zip(tables, told[so_far], strict=True):
            assert power.committed(state, whole, table) >= least
    for state, _ in Random(0).sample(states, RESTARTS):
        left = Layout(tmp_path / "left")
        power.write(state, left.data_dir)
        again = shipping.group(left)
        again.create_tables()
        for landed in shipping.landing(left):
            landed()
        finish(again)
        shipping.release(again)
        assert shipping.rows(left) == due
        shutil.rmtree(left.data_dir)
    assert len(states) > 100 and all(due)
