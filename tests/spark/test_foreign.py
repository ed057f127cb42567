"""Rows that another tool adds to a landing's table are read by nobody, in either engine."""

from __future__ import annotations

from pathlib import Path

import pytest
from deltalake import DeltaTable, write_deltalake
from pyspark.errors import StreamingQueryException

from headrace.errors import HeadraceError
from headrace.queries.group import Group
from headrace.running.factory import AnyQuery
from headrace.spark.failures import is_transient, message_of
from headrace.store.commits import newest_version
from headrace.store.paths import StorePath
from headrace.streaming.query import StreamedQuery
from headrace.testing.cases import case as cases
from headrace.testing.cases.landing import land
from headrace.testing.runs.disk import land_batch
from headrace.testing.runs.scope import narrowed
from headrace.testing.runs.trial import Models

pytestmark = pytest.mark.spark


def landed(models: Models, model: str) -> tuple[AnyQuery, StorePath]:
    """The query of a model that has read the first landing batch of a case; then somebody adds its rows again."""
    sandbox, root = models.sandbox, Path(models.project.root)
    file = sorted(root.glob(f"tests/models/{model}/*.yml"))[0].relative_to(root)
    case = cases.read(models.project, file.as_posix())
    layout = sandbox.layout(case.project)
    batch = land(sandbox.judge, case.project, case.given, case.seeds).batches[0]
    land_batch(sandbox, layout, batch)
    (declared,) = narrowed(case.project, case.tables).queries
    query = sandbox.query(case.project, layout, declared)
    query.create_tables()
    read(query)
    table = layout.landing(batch.landing)
    write_deltalake(str(table), DeltaTable(str(table)).to_pyarrow_table(), mode="append")
    return query, layout.table(f"gold.{model}")


def read(query: AnyQuery) -> None:
    """Read all that is new."""
    if isinstance(query, StreamedQuery):
        query.start(available_now=True).awaitTermination()
    assert isinstance(query, (Group, StreamedQuery))
    if isinstance(query, Group):
        while query.step(1_000):
            pass


@pytest.mark.parametrize("model", ["shipment_ready", "sales_per_minute"])
def test_rows_that_others_add_to_what_landed_are_not_read(models: Models, model: str) -> None:
    query, table = landed(models, model)
    before = newest_version(table)
    with pytest.raises((HeadraceError, StreamingQueryException)) as error:
        read(query)
    assert "somebody has added rows to it in version 2" in message_of(error.value)
    assert is_transient(error.value) is False
    assert newest_version(table) == before
