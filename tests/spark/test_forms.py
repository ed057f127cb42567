"""The example models in their other form, joins of streams, over the cases of the demo project's models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from headrace.project import loader
from headrace.testing.runs.sandbox import Sandbox
from headrace.testing.runs.trial import Models
from tests.long import one_of

pytestmark = pytest.mark.spark

TESTS = Path(__file__).parents[1]
SHIPMENTS = ("order_before_its_products", "orders_do_not_mix", "products_counted_once", "unexpected_products")
CALLS = ("idle_input",)


@pytest.fixture(scope="module")
def examples(sandbox: Sandbox) -> Models:
    """The models of the example project."""
    return Models(sandbox, loader.load(TESTS / "examples" / "streaming", "test"))


def case(model: str, name: str) -> dict[str, Any]:
    """A case of the demo project."""
    found: dict[str, Any] = YAML(typ="safe").load(TESTS / "models" / model / f"{name}.yml")
    return found


@pytest.mark.parametrize("name", one_of(6, SHIPMENTS))
def test_shipments_of_both_forms_agree(examples: Models, name: str) -> None:
    due = case("shipment_ready", name)
    found = examples.rows("gold.shipment_ready", due["given"])
    wanted = {row["order_id"] for row in due["expect"]["rows"]}
    assert sorted(row.order_id for row in found.collect()) == sorted(wanted)


@pytest.mark.parametrize("name", one_of(2, CALLS))
def test_calls_of_both_forms_agree(examples: Models, name: str) -> None:
    due = case("calls", name)
    rows = examples.rows("gold.calls", due["given"]).drop("pair").collect()
    assert [row.asDict() for row in rows] == due["expect"]["rows"]


def half(kind: str, user: str, seconds: float) -> dict[str, Any]:
    """A half of a call, so many seconds after ten o'clock."""
    return {"value": {"user1": user, "user2": "b", "timestamp": 1_767_261_600_000 + int(seconds * 1000), kind: "x"}}


def test_rows_too_late_for_a_join_are_stored(examples: Models) -> None:
    given = [
        {"call_analytics": [half("analytics", "c", 300)], "call_metrics": [half("metrics", "c", 310)]},
        {
            "call_analytics": [half("analytics", "a", 120), half("analytics", "a", 120.001)],  # the watermark: 120
            "call_metrics": [half("metrics", "a", 100), half("metrics", "a", 180)],
        },
    ]
    outcome = examples.outcome("gold.calls", given)
    late = outcome.late["gold.calls"].selectExpr("key", "unix_seconds(event_time) - 1767261600 as at").collect()
    assert sorted((row.key, row.at) for row in late) == [('["a","b"]', 100), ('["a","b"]', 120)]
