"""Rows whose key has a null: `once_per` keeps them all, an upsert sets them aside."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import TypeAdapter
from pyspark.sql import DataFrame

from headrace.project import loader
from headrace.queries.refused_changes import NULL_KEY as REASON
from headrace.testing.cases.case import Cut
from headrace.testing.runs.sandbox import Sandbox
from headrace.testing.runs.trial import Models
from tests.long import one_of

pytestmark = pytest.mark.spark

FILES = {
    "manifest.yml": "name: nulls\nmodels: {+materialized: append}\n",
    "conf/local.yml": "data_dir: data\n",
    "sql/bronze/v.yml": """
landing: v
topics: {visits: {schema: {id: string, site: string, page: string}, null_key: allow}}
""",
    "sql/gold/v/firsts.sql": """/*
First visits, one row per id.

once_per: id
query: v
*/
select data.id, data.page, _arrival from stream bronze.visits
""",
    "sql/gold/v/pages.sql": """/*
Pages of an id, one row per id and page.

once_per: [id, page]
query: v
*/
select data.id, data.page, _arrival from stream bronze.visits
""",
    "sql/gold/v/newest.sql": """/*
Newest page of a visitor, one row per id and site.

materialized: upsert
unique_key: [id, site]
delete_when: page = 'gone'
query: v
tests: {columns: {page: not_null}}
*/
select data.id, data.site, data.page, _arrival from stream bronze.visits
""",
    "sql/gold/v/ended.sql": """/*
Page of a visitor until the end, one row per id.

materialized: upsert
unique_key: id
close_when: page = 'end'
query: v
*/
select data.id, data.page, _arrival from stream bronze.visits
""",
    "sql/gold/v/parts.sql": """/*
Newest letters of pages, one row per id.

materialized: upsert
unique_key: id
query: v
*/
with letters as (
    select data.id as id, explode(split(data.page, '')) as letter, _arrival from stream bronze.visits
)
select id, letter, _arrival from letters where id is null or letter = 'e'
""",
    "sql/gold/v/counts.sql": """/*
Visits of an id, one row per id.

materialized: upsert
unique_key: id
run: streaming
output_mode: update
allow: {unbounded-state: There are few visitors in all.}
*/
select data.id as id, count(*) as visits from stream bronze.visits group by data.id
""",
    "sql/gold/v/unordered.sql": """/*
Pages of an id in no order, one row per id and page.

once_per: [id, page]
query: v
*/
select data.id, data.page from stream bronze.visits
""",
}


@pytest.fixture(scope="module")
def models(sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Models:
    root = tmp_path_factory.mktemp("nulls")
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, "utf-8")
    return Models(sandbox, loader.load(root, "local"))


def visit(visitor: str | None, page: str | None) -> dict[str, Any]:
    return {"key": None, "value": {"id": visitor, "page": page}}


@pytest.mark.parametrize("cut", one_of(3, ["restarts", "one-by-one", "all-at-once"]))
def test_rows_without_a_key_are_all_kept(models: Models, cut: Cut) -> None:
    given = [
        {"visits": [visit("a", "x"), visit(None, "x"), visit(None, "x")]},
        {"visits": [visit("a", "y"), visit(None, "x"), visit("a", None), visit("a", None)]},
    ]
    found = models.tables(["gold.firsts", "gold.pages"], given, cut)
    pages = {name: sorted(map(tuple, rows.select("id", "page").collect()), key=str) for name, rows in found.items()}
    assert pages == {
        "gold.firsts": [("a", "x"), (None, "x"), (None, "x"), (None, "x")],
        "gold.pages": [("a", "x"), ("a", "y"), ("a", None), ("a", None), (None, "x"), (None, "x"), (None, "x")],
    }


def test_rows_without_a_key_need_no_order(models: Models) -> None:
    given = [{"visits": [visit(None, "x"), visit(None, "x"), visit("a", "x")]}]
    assert models.rows("gold.unordered", given).count() == 3


@pytest.mark.parametrize("cut", one_of(3, ["restarts", "one-by-one", "all-at-once"]))
def test_changes_without_a_whole_key_are_set_aside_and_reported(models: Models, cut: Cut) -> None:
    def at(visitor: str | None, site: str | None, page: str | None) -> dict[str, Any]:
        return {"key": None, "value": {"id": visitor, "site": site, "page": page}}

    given = [
        {"visits": [at("a", "s", "x"), at(None, "s", "end"), at(None, "s", "y"), at("a", None, "gone")]},
        {"visits": [at("a", "s", "y"), at(None, None, "x"), at("b", "s", "end"), at("b", "s", "z")]},
    ]
    tables = ["gold.newest", "gold.ended"]
    outcome = models._outcome(tables, TypeAdapter(Any).validate_python(given), cut, seeds=False)
    rows = {table: _tuples(outcome.rows(models.project.model(table)), "id", "page") for table in tables}
    assert rows == {"gold.newest": [("a", "y"), ("b", "z")], "gold.ended": [("a", "y")]}
    failed = sorted((row["model"], row["test"], json.loads(row["row"])["page"]) for row in outcome.failed)
    assert failed == [
        ("gold.ended", REASON, "end"),
        ("gold.ended", REASON, "x"),
        ("gold.ended", REASON, "y"),
        ("gold.newest", REASON, "end"),
        ("gold.newest", REASON, "gone"),
        ("gold.newest", REASON, "x"),
        ("gold.newest", REASON, "y"),
    ]


def test_rows_of_one_arrival_without_a_key_do_not_clash(models: Models) -> None:
    outcome = models.outcome("gold.parts", [{"visits": [visit(None, "abc"), visit("a", "the")]}])
    assert _tuples(outcome.rows(models.project.model("gold.parts")), "id", "letter") == [("a", "e")]
    assert len(outcome.failed) >= 3


def test_streaming_engine_sets_them_aside_too(models: Models) -> None:
    given = [{"visits": [visit("a", "x"), visit(None, "x")]}, {"visits": [visit("a", "x"), visit(None, "x")]}]
    outcome = models.outcome("gold.counts", given)
    assert _tuples(outcome.rows(models.project.model("gold.counts")), "id", "visits") == [("a", 2)]
    failed = sorted((row["test"], json.loads(row["row"])["visits"]) for row in outcome.failed)  # they lie in two files
    assert failed == [(REASON, 1), (REASON, 2)]


def _tuples(rows: DataFrame, *columns: str) -> list[tuple[Any, ...]]:
    return sorted(map(tuple, rows.select(*columns).collect()), key=str)
