"""A run of some queries is refused as long as a table that they read does not exist."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.project import loader, selection
from headrace.project.model import Project
from headrace.running import upstream
from headrace.store.layout import Layout
from tests.unit.synthetic_table import SyntheticTable

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def project() -> Project:
    return loader.load(ROOT, "test")


def found(project: Project, layout: Layout, *selected: str) -> list[str]:
    narrowed = selection.narrowed(project, selected)
    return [f"{each.place.path} {each.code} {each.message}" for each in upstream.findings(narrowed, layout)]


@pytest.mark.parametrize(
    ("selected", "missing"),
    [
        ("shop_customers", ["silver.created_orders", "silver.payment_matches"]),
        ("shop_customers payment_matches", ["silver.created_orders"]),
        ("shop", []),
        ("shipping", []),
        ("", []),
    ],
)
def test_missing_table_is_named_where_it_is_read(
    project: Project, tmp_path: Path, selected: str, missing: list[str]
) -> None:
    lines = found(project, Layout(tmp_path), *selected.split())
    assert sorted({line.split()[2] for line in lines}) == missing
    assert all(line.startswith("sql/silver/shop/") and "no-table" in line for line in lines)


def test_table_that_is_there_may_be_read(project: Project, tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    for name in ("silver.created_orders", "silver.payment_matches"):
        path = layout.table(name)
        assert isinstance(path, Path)
        path.parent.mkdir(parents=True, exist_ok=True)
        SyntheticTable.at(path).append(1)
    assert found(project, layout, "shop_customers") == []
