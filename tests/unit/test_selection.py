"""Choosing models in the grammar of dbt."""

from __future__ import annotations

import pytest

from headrace.errors import Place, UsageError
from headrace.project import selection
from headrace.project.model import Input, Landing, Layer, Model, Project, Query, Target, Topic


def model(layer: Layer, name: str, domain: str, query: str | None, *reads: str, tags: tuple[str, ...] = ()) -> Model:
    path = f"sql/{layer}/{domain}/{name}.sql"
    inputs = tuple(Input(read, True, 0, 0, Place(path), False) for read in reads)
    kind = "append" if query else "view"
    return Model(layer, name, domain, path, "", "", kind, "micro_batch", query, inputs, tags=(domain, *tags))  # type: ignore[arg-type]


@pytest.fixture
def project(tmp_path) -> Project:
    """bronze.orders -> silver.orders (view) -> silver.open -> gold.ready -> gold.report; gold.sums apart."""
    models = (
        model("gold", "ready", "shipping", "ship", "silver.open", "silver.open"),
        model("gold", "report", "reports", "report", "gold.ready", tags=("daily",)),
        model("gold", "sums", "sales", "sums", "bronze.sales", tags=("daily",)),
        model("silver", "open", "shipping", "ship", "silver.orders", "silver.open"),
        model("silver", "orders", "shipping", None, "bronze.orders"),
    )
    here = Place("sql/bronze/shipping.yml")
    landings = (
        Landing("shipping", (Topic("orders", "orders", here),), here),
        Landing("sales", (Topic("sales", "sales-v1", here),), here),
    )
    queries = (
        Query("ship", "micro_batch", (models[3], models[0])),
        Query("report", "micro_batch", (models[1],)),
        Query("sums", "micro_batch", (models[2],)),
    )
    return Project(tmp_path, "demo", Target("t", tmp_path), {}, landings, models, (), queries)


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ("", "gold.ready gold.report gold.sums silver.open silver.orders"),
        ("shipping", "gold.ready silver.open silver.orders"),
        ("ship", "gold.ready silver.open"),
        ("gold.ready", "gold.ready"),
        ("ready", "gold.ready"),
        ("silver", "silver.open silver.orders"),
        ("gold.re*", "gold.ready gold.report"),
        ("+ready", "gold.ready silver.open silver.orders"),
        ("1+ready", "gold.ready silver.open"),
        ("open+", "silver.open gold.ready gold.report"),
        ("open+1", "silver.open gold.ready"),
        ("1+ready+1", "silver.open gold.ready gold.report"),
        ("@silver.orders", "gold.ready gold.report silver.open silver.orders"),
        ("bronze.orders+1", "silver.orders"),
        ("bronze.sales+", "gold.sums"),
        ("tag:daily", "gold.report gold.sums"),
        ("tag:shipping", "gold.ready silver.open silver.orders"),
        ("path:sql/gold", "gold.ready gold.report gold.sums"),
        ("path:sql/gold/sales/", "gold.sums"),
        ("path:sql/silver/shipping/open.sql", "silver.open"),
        ("ready report", "gold.ready gold.report"),
        ("tag:daily,path:sql/gold/sales", "gold.sums"),
        ("+report,shipping sums", "gold.ready silver.open silver.orders gold.sums"),
    ],
)
def test_selector_chooses_models(project, selector, expected):
    assert selection.select(project, [selector] if selector else []) == frozenset(expected.split())


def test_selectors_unite(project):
    assert selection.select(project, ["ready", "report"]) == {"gold.ready", "gold.report"}


def test_excluded_models_are_left_out(project):
    assert selection.select(project, ["shipping"], ["ready"]) == {"silver.open", "silver.orders"}
    assert selection.select(project, [], ["shipping", "tag:daily,sums"]) == {"gold.report"}


@pytest.mark.parametrize(
    "selector", ["redy", "tag:dayly", "path:sql/gld", "ready,redy", "config:x", "++", "bronze.orders", "ready,sums"]
)
def test_selecting_nothing_is_a_usage_error(project, selector):
    with pytest.raises(UsageError):
        selection.select(project, [selector])


@pytest.mark.parametrize("choose", [selection.select, selection.listed])
@pytest.mark.parametrize(
    ("selectors", "excludes"),
    [(["ready,sums"], []), ([""], []), (["ready", " "], []), ([], [""]), (["gold"], ["gold"])],
)
def test_every_command_refuses_to_select_nothing(project, choose, selectors, excludes):
    with pytest.raises(UsageError, match=r"nothing is selected|a selector is empty"):
        choose(project, selectors, excludes)


def test_views_alone_do_not_run(project):
    with pytest.raises(UsageError, match="only views"):
        selection.narrowed(project, ["silver.orders"])


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ("", "bronze.orders bronze.sales gold.ready gold.report gold.sums silver.open silver.orders"),
        ("bronze.orders", "bronze.orders"),
        ("+silver.orders", "bronze.orders silver.orders"),
        ("shipping", "bronze.orders gold.ready silver.open silver.orders"),
    ],
)
def test_sources_are_listed_with_models(project, selector, expected):
    assert selection.listed(project, [selector] if selector else []) == frozenset(expected.split())


def test_excluding_nothing_is_a_usage_error(project):
    with pytest.raises(UsageError):
        selection.select(project, [], ["redy"])


def test_excluding_everything_is_a_usage_error(project):
    with pytest.raises(UsageError):
        selection.select(project, ["ready"], ["gold"])


def test_misspelt_selector_suggests_the_nearest(project):
    with pytest.raises(UsageError, match=r"Did you mean gold\.ready"):
        selection.select(project, ["+gold.redy"])


def test_queries_are_whole_and_in_order(project):
    chosen = selection.queries_of(project, {"gold.sums", "gold.ready", "silver.orders"})
    assert [query.name for query in chosen] == ["ship", "sums"]
