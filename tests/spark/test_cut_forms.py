"""Correct forms of models that seem to depend on the cut: the same rows however events are cut into batches."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from headrace.project import loader
from headrace.testing.cases.case import Cut
from headrace.testing.runs.sandbox import Sandbox
from headrace.testing.runs.trial import Models
from tests.long import one_of

pytestmark = pytest.mark.spark

PROJECT = Path(__file__).parents[1] / "examples" / "cuts"
GIVEN: list[dict[str, Any]] = [
    {
        "prices": [{"key": "A", "value": {"price": 100}}],
        "customers": [{"key": "c", "value": {"name": "Ada"}}],
    },
    {"orders": [{"key": "o1", "value": {"customer": "c", "amount": 10}}]},
    {
        "prices": [{"key": "A", "value": {"price": 110}}],
        "payments": [{"key": "o1", "value": {"amount": 10}}, {"key": "o2", "value": {"amount": 20}}],
        "orders": [{"key": "o2", "value": {"customer": "c", "amount": 20}}],
    },
    {
        "prices": [{"key": "A", "value": {"price": 121}}, {"key": "A", "value": {"price": 133.1}}],
        "customers": [{"key": "c", "value": {"name": "Countess"}}],
        "orders": [{"key": "o3", "value": {"customer": "c", "amount": 30}}],
    },
]
ROWS: dict[str, list[tuple[Any, ...]]] = {
    "gold.price_moves": [(100, None), (110, 10), (121, 10), (Decimal("133.1"), 10)],
    "gold.paid_orders": [("o1", 10), ("o2", 20)],
    "gold.unpaid_orders": [("o3",)],
    "gold.distinct_customers": [("c",)],
    "gold.named_orders": [("o1", "Ada"), ("o2", "Ada"), ("o3", "Countess")],
}
COLUMNS = {
    "gold.price_moves": ("price", "percent"),
    "gold.paid_orders": ("order_id", "paid"),
    "gold.unpaid_orders": ("order_id",),
    "gold.distinct_customers": ("customer",),
    "gold.named_orders": ("order_id", "name"),
}


@pytest.fixture(scope="module")
def models(sandbox: Sandbox) -> Models:
    return Models(sandbox, loader.load(PROJECT, "test"))


@pytest.mark.parametrize("cut", one_of(3, ["restarts", "one-by-one", "all-at-once"]))
def test_right_forms_give_the_same_rows_in_every_cut(models: Models, cut: Cut) -> None:
    found = models.tables([*ROWS], GIVEN, cut)
    sorted_rows = {name: sorted(map(tuple, found[name].select(*COLUMNS[name]).collect()), key=str) for name in ROWS}
    assert sorted_rows == {name: sorted(rows, key=str) for name, rows in ROWS.items()}


@pytest.mark.parametrize("cut", one_of(3, ["restarts", "one-by-one", "all-at-once"]))
def test_group_by_in_the_streaming_engine_counts_all(models: Models, cut: Cut) -> None:
    rows = models.tables(["gold.customer_orders"], GIVEN, cut)["gold.customer_orders"].collect()
    assert [(row.customer, row.order_count) for row in rows] == [("c", 3)]
