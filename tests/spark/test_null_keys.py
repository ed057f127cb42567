"""Rows whose key has a null: `once_per` keeps them all."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.project import loader
from headrace.testing.case import Cut
from headrace.testing.sandbox import Sandbox
from headrace.testing.trial import Models

pytestmark = pytest.mark.spark

FILES = {
    "manifest.yml": "name: nulls\nmodels: {+materialized: append}\n",
    "conf/local.yml": "data_dir: data\n",
    "sql/bronze/v.yml": "landing: v\ntopics: {visits: {schema: {id: string, page: string}, null_key: allow}}\n",
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


@pytest.mark.parametrize("cut", ["one-by-one", "all-at-once", "restarts"])
def test_rows_without_a_key_are_all_kept(models: Models, cut: Cut) -> None:
    given = [
        {"visits": [visit("a", "x"), visit(None, "x"), visit(None, "x")]},
        {"visits": [visit("a", "y"), visit(None, "x"), visit("a", None), visit("a", None)]},
    ]
    found = models.tables(["gold.firsts", "gold.pages"], given, cut)
    told = {name: sorted(map(tuple, rows.select("id", "page").collect()), key=str) for name, rows in found.items()}
    assert told == {
        "gold.firsts": [("a", "x"), (None, "x"), (None, "x"), (None, "x")],
        "gold.pages": [("a", "x"), ("a", "y"), ("a", None), ("a", None), (None, "x"), (None, "x"), (None, "x")],
    }


def test_rows_without_a_key_need_no_order(models: Models) -> None:
    given = [{"visits": [visit(None, "x"), visit(None, "x"), visit("a", "x")]}]
    assert models.rows("gold.unordered", given).count() == 3
