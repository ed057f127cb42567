"""The five systems on a real Spark cluster: submitted to a standalone master, computed by an executor of its own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from typing import Any

import pytest

from tests.kafka import outcome
from tests.kafka.cluster import Event
from tests.kafka.events import load, made, order
from tests.kafka.oracle import MANUFACTURED, ORDERS, SALES
from tests.kafka.spark_cluster import standalone, submit
from tests.kafka.stage import PROJECT, Stage

pytestmark = [pytest.mark.kafka, pytest.mark.long]

OTHERS = ("customers", "warehouse-inventory", "shop-orders", "analyticsTopic", "metricsTopic", "logs")
MINUTE = 60_000
AT = 1_767_261_600_000
"""When the calls were, in milliseconds."""


def record(topic: str, key: str | None, value: Any) -> Event:
    return topic, key, json.dumps(value)


def half(topic: str, what: str, at: int) -> Event:
    return record(topic, None, {"user1": "ann", "user2": "bob", "timestamp": AT + at, what: "x"})


SHOP = (
    record("customers", "1", {"id": 1, "level": "GOLD"}),
    record("warehouse-inventory", "JUMPERS", 10),
    record(
        "shop-orders",
        "o",
        {"id": "o", "customerId": 1, "state": "CREATED", "product": "JUMPERS"} | {"quantity": 1, "price": 5},
    ),
)
CALLS = (
    half("analyticsTopic", "analytics", 0),
    half("metricsTopic", "metrics", 1000),
    half("metricsTopic", "metrics", 60 * MINUTE),
)
VIEW = {"logger_name": "shop.ViewProductEvent", "browserHash": "b", "productId": 1}


@pytest.fixture(scope="module")
def submitted(stage: Stage) -> Iterator[Stage]:
    """A stage whose records a cluster has processed."""
    stage.create({ORDERS: 2, MANUFACTURED: 2, SALES: 1, **dict.fromkeys(OTHERS, 1)})
    stage.send([*islice(load(seed=12), 200), order("one", 1), made("one", 1), *SHOP, *CALLS])
    stage.send([record("logs", None, VIEW)] * 5)
    folder = stage.folder / "cluster"
    folder.mkdir()
    with standalone(folder) as master:
        done = submit(master, folder, stage.environ, "-C", str(PROJECT), "-t", "test", "--available-now")
        assert done.returncode == 0, f"{done.stdout[-8000:]}\n{done.stderr[-2000:]}"
    yield stage


def test_cluster_gives_what_is_due(submitted: Stage) -> None:
    acked = [record for record in submitted.acked if record.topic in (ORDERS, MANUFACTURED, SALES)]
    assert outcome.found(submitted) == outcome.expected(acked)


def test_other_systems_give_their_rows(submitted: Stage) -> None:
    (decided,) = submitted.rows("gold.order_outcomes")
    assert (decided["order_id"], decided["state"]) == ("o", "VALIDATED")
    assert [row["order_id"] for row in submitted.rows("gold.enriched_orders")] == ["o"]
    assert [row["view_count"] for row in submitted.rows("gold.product_views")] == [1, 2, 3, 4, 5]
    assert [row["browser_hash"] for row in submitted.rows("gold.captcha_requests")] == ["b"]
    assert [row["view_count"] for row in submitted.rows("gold.view_counters")] == [5]


def test_executor_did_the_work(submitted: Stage) -> None:
    (app,) = (submitted.folder / "cluster" / "worker" / "work").glob("app-*")
    assert "Running task" in (app / "0" / "stderr").read_text()
