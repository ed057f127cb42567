"""Batches whose files Spark writes, and the power going at every moment: what was told is there, and all goes on."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest

from headrace.project.model import Project
from headrace.store import durable
from headrace.store.commits import newest_version
from headrace.store.delta_tables import open_table
from headrace.store.layout import Layout
from headrace.testing.cases import case as cases
from headrace.testing.cases.landing import LandedBatch, land
from headrace.testing.runs.disk import Process, land_batch
from headrace.testing.runs.scope import narrowed
from headrace.testing.runs.trial import Models
from tests import power
from tests.long import long

pytestmark = pytest.mark.spark

RESTARTS = 3


class Store:
    """The project of a case, over one data directory after another."""

    def __init__(self, models: Models, case_file: str) -> None:
        case = cases.read(models.project, case_file)
        self._sandbox, self._project = models.sandbox, case.project
        self._scope: Project = narrowed(case.project, case.tables)
        self._landed = land(models.sandbox.judge, case.project, case.given, case.seeds)

    def layout(self) -> Layout:
        """A new data directory, with all tables."""
        return self._sandbox.layout(self._project)

    def process(self, layout: Layout) -> Process:
        """A process that knows only what is stored."""
        found = Process(self._sandbox, self._scope, layout)
        found.create_tables()
        return found

    def missing(self, layout: Layout) -> Iterator[LandedBatch]:
        """What has not landed."""
        for batch in self._landed.batches:
            if newest_version(layout.landing(batch.landing)) <= batch.number:
                yield batch

    def land(self, layout: Layout, batch: LandedBatch) -> None:
        land_batch(self._sandbox, layout, batch)

    def tables(self, layout: Layout) -> list[Path]:
        """The logs that are appended to."""
        stored = [model for query in self._scope.queries for model in query.models]
        appended = [layout.appended(model.table, model.materialized == "upsert") for model in stored]
        landed = [layout.landing(name) for name in {batch.landing for batch in self._landed.batches}]
        return [path for path in (*landed, *appended) if isinstance(path, Path)]

    def versions(self, layout: Layout) -> list[int]:
        """How many versions each table has."""
        return [newest_version(path) + 1 for path in self.tables(layout)]

    def rows(self, layout: Layout) -> list[list[str]]:
        """All that is stored, but for the numbers of batches."""
        tables = (open_table(path).to_pyarrow_table() for path in self.tables(layout))
        return [sorted(str(row) for row in table.drop_columns(_moving(table)).to_pylist()) for table in tables]


def _moving(table: pa.Table) -> list[str]:
    """Columns that say in which batch a row came."""
    return [name for name in ("_batch", "_arrival") if name in table.column_names]


@pytest.mark.parametrize(
    "case",
    [
        "tests/models/shipment_ready/order_before_its_products.yml",
        long("tests/models/sales_per_minute/minutes_of_each_product.yml"),
    ],
)
def test_queries_go_on_from_whatever_a_power_loss_leaves(
    models: Models, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    store = Store(models, case)
    layout = store.layout()
    process, told = store.process(layout), [store.versions(layout)]
    steps: list[power.Step] = []
    for batch in store.missing(layout):
        for step in (partial(store.land, layout, batch), process.advance):
            steps += [step, lambda: told.append(store.versions(layout))]
    states = [*power.record(layout.data_dir, steps).states().items()]
    process.stop()
    due, whole = store.rows(layout), power.read(layout.data_dir)
    tables = [str(path.relative_to(layout.data_dir)) for path in store.tables(layout)]

    for state, so_far in states:
        for table, least in zip(tables, told[so_far // 2], strict=True):
            assert power.committed(state, whole, table) >= least
    monkeypatch.setattr(durable, "boot", lambda: "the next one")
    for number, (state, _) in enumerate(Random(0).sample(states, RESTARTS)):
        left = Layout(tmp_path / f"left-{number}")  # Spark remembers tables and state by their path
        power.write(state, left.data_dir)
        again = store.process(left)
        for batch in store.missing(left):
            store.land(left, batch)
        again.advance()
        again.stop()
        assert store.rows(left) == due
        shutil.rmtree(left.data_dir)
    assert len(states) > 100 and all(due)
