"""Models in a notebook: every text of the project runs as it stands, over what is stored."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import TypeAdapter

import headrace
from headrace.elsewhere import notebook
from headrace.elsewhere.notebook import Notebook
from headrace.errors import UsageError
from headrace.project import loader
from headrace.project.model import Model
from headrace.store.layout import Layout
from headrace.testing.cases.case import Batch
from headrace.testing.cases.landing import land
from headrace.testing.runs.disk import Process
from headrace.testing.runs.disk import land_batch as land_on_disk
from headrace.testing.runs.sandbox import Sandbox
from headrace.testing.runs.scope import narrowed
from tests.long import one_of

pytestmark = pytest.mark.spark

PROJECT = loader.load(Path(__file__).parents[2], "test")
READ = {read.table for model in PROJECT.models for read in model.inputs}
SALES = [
    {"sales": [{"key": "pen", "value": {"product": "pen", "value": 1500}, "timestamp": "2026-01-01T10:00:10Z"}]},
    {"sales": [{"key": "pen", "value": {"product": "pen", "value": 700}, "timestamp": "2026-01-01T10:03:10Z"}]},
]


@pytest.fixture(scope="module")
def opened(sandbox: Sandbox) -> Iterator[Notebook]:
    """The project with two sales processed, opened as the current one."""
    layout = sandbox.layout(PROJECT)
    sales = narrowed(PROJECT, ["silver.sales_totals", "gold.sales_notifications", "gold.sales_per_minute"])
    for batch in land(sandbox.judge, PROJECT, TypeAdapter(tuple[Batch, ...]).validate_python(SALES)).batches:
        land_on_disk(sandbox, layout, batch)
    process = Process(sandbox, sales, layout)
    process.advance()
    process.stop()
    at = replace(PROJECT, target=replace(PROJECT.target, data_dir=layout.data_dir))
    opened = Notebook(sandbox.spark, at)
    token = notebook._CURRENT.set(opened)
    yield opened
    notebook._CURRENT.reset(token)


@pytest.mark.parametrize("model", one_of(30, PROJECT.models), ids=lambda model: model.table)
def test_text_of_every_model_runs_as_it_stands(opened: Notebook, sandbox: Sandbox, model: Model) -> None:
    found = opened.sql(model.text)
    assert found.columns == sandbox.schemas(PROJECT)[model.table].names
    if model.materialized != "view" or model.table not in READ:  # a view that is read runs as a part of its readers
        found.write.format("noop").mode("overwrite").save()


def test_streaming_model_gives_its_rows_as_a_batch(opened: Notebook) -> None:
    rows = headrace.sql(PROJECT.model("gold.sales_per_minute").text)
    assert {(row["product"], row["total"]) for row in rows.collect()} == {("pen", 1500), ("pen", 700)}


def test_stored_rows_are_those_of_the_run(opened: Notebook) -> None:
    news = headrace.sql("select product, total from gold.sales_notifications where total >= :sales_threshold")
    assert [tuple(row) for row in news.collect()] == [("pen", 2200)]


def test_streamed_upsert_gives_its_changes(opened: Notebook) -> None:
    changes = opened.sql("select total, _deleted from stream silver.sales_totals")
    assert sorted(tuple(row) for row in changes.collect()) == [(1500, False), (2200, False)]
    assert [row["total"] for row in opened.table("silver.sales_totals").collect()] == [2200]


def test_later_rows_are_seen_by_the_next_query(opened: Notebook, sandbox: Sandbox) -> None:
    count = "select count(*) from bronze.orders"
    before = opened.sql(count).collect()[0][0]
    given = [{"orders": [{"key": "a", "value": {"id": "a", "items": [{"id": 1, "name": "x"}]}}]}]
    (batch,) = land(sandbox.judge, PROJECT, TypeAdapter(tuple[Batch, ...]).validate_python(given)).batches
    land_on_disk(sandbox, Layout(opened.project.target.data_dir), batch)
    assert opened.sql(count).collect()[0][0] == before + 1


@pytest.mark.parametrize("text", ["select 1 from gold.salez", "select :nothing as x"])
def test_unknown_names_are_reported(opened: Notebook, text: str) -> None:
    with pytest.raises(UsageError):
        opened.sql(text)
