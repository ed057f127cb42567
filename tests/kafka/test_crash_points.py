"""A group's batch that fails at every point of its commit sequence: the result is as if nothing had happened."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headrace.checking import verdict
from headrace.landing.landing import KafkaSource, LandingQuery
from headrace.project import loader
from headrace.project.model import Project
from headrace.queries.group import Group
from headrace.queries.inputs import InputLog
from headrace.store.layout import Layout
from headrace.tables.delta import CommitTable
from headrace.tables.state import KeyedState
from tests.kafka import oracle
from tests.kafka.cluster import Cluster, Event
from tests.kafka.crash import Crash, Point
from tests.kafka.events import made, order, sale
from tests.kafka.oracle import MANUFACTURED, ORDERS, SALES
from tests.kafka.stage import PROJECT
from tests.long import one_of

pytestmark = pytest.mark.kafka

EVERYTHING = 100_000
KEYS = """/*
Orders and news: one row per order event and per notification.

materialized: append
query: keys
*/
select key, _arrival from stream bronze.orders
union all
select product, _arrival from stream gold.sales_notifications
"""


@dataclass
class Engine:
    """A run's landings and groups, taken step by step; the project has a model more, with two sources."""

    spark: SparkSession
    project: Project
    cluster: Cluster
    groups: dict[str, Group] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.layout = Layout(self.project.target.data_dir)
        self.schemas = verdict.schemas(self.spark, self.project)
        source = KafkaSource.of(self.project.target.kafka, "test")
        landings = self.project.landings
        self.landings = {found.name: LandingQuery(self.spark, self.layout, found, source) for found in landings}
        for landing in self.landings.values():
            landing.table.create()
        for name in ("shipping", "sales", "keys"):
            self.start(name).create_tables()

    def start(self, name: str) -> Group:
        """A group that starts from its stored state only."""
        (query,) = (query for query in self.project.queries if query.name == name)
        self.groups[name] = Group(self.spark, self.project, self.layout, query, self.schemas)
        return self.groups[name]

    def land(self, *events: Event) -> None:
        """Send events and land them, at most one batch a landing."""
        self.cluster.send(events)
        for landing in self.landings.values():
            landing.step(EVERYTHING)

    def finish(self, name: str) -> None:
        """Let a group process all available input."""
        while self.groups[name].step(EVERYTHING):
            pass

    def rows(self, table: str, *columns: str) -> list[tuple[Any, ...]]:
        """Rows of an append table in arrival order."""
        stored = self.spark.read.format("delta").load(str(self.layout.table(table)))
        return [tuple(row) for row in stored.orderBy("_arrival").select(*columns).collect()]

    def state(self, name: str, table: str, *columns: str) -> list[tuple[Any, ...]]:
        """Current rows of an upsert model, as the next batch would look them up."""
        return sorted(tuple(row) for row in self.groups[name].outputs[table].before().select(*columns).collect())


@pytest.fixture(scope="module")
def engine(spark: SparkSession, bootstrap: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """The only user of the project's own topics on the shared broker."""
    root = tmp_path_factory.mktemp("project")
    for part in ("conf", "sql", "macros"):
        shutil.copytree(PROJECT / part, root / part)
    shutil.copy(PROJECT / "manifest.yml", root)
    (root / "sql/gold/sales/keys.sql").write_text(KEYS)
    project = loader.load(root, "test")
    kafka = replace(project.target.kafka, bootstrap=bootstrap)
    project = replace(project, target=replace(project.target, kafka=kafka, data_dir=root / "data"))
    cluster = Cluster(bootstrap)
    cluster.create({ORDERS: 1, MANUFACTURED: 1, SALES: 2})
    yield Engine(spark, project, cluster)


POINTS = {
    "before the inputs are recorded": Point(InputLog, "record", "before"),
    "after the inputs are recorded": Point(InputLog, "record", "after"),
    "before the outputs": Point(CommitTable, "append", "before"),
    "between outputs and change log": Point(CommitTable, "append", "after"),
    "after the change log": Point(CommitTable, "append", "after", call=2),
    "before the state is changed": Point(KeyedState, "apply", "before"),
    "after the state is changed": Point(KeyedState, "apply", "after"),
}


@pytest.mark.parametrize("point", one_of(8, POINTS))
def test_batch_is_finished_after_a_crash(engine: Engine, monkeypatch: pytest.MonkeyPatch, point: str) -> None:
    number, last = list(POINTS).index(point), list(POINTS).index(point) - 1
    engine.land(
        *(order(f"o{number}", 1, 2), made(f"o{number}", 1), made(f"o{last}", 2), order(f"now{number}", 1)),
        *(made(f"now{number}", 1), sale("all", 700), sale(f"p{number}", 1500), sale(f"p{number}", 1000)),
        *(sale(f"p{last}", -2000), (SALES, f"p{last - 1}", None)),
    )
    for name in ("shipping", "sales"):
        with monkeypatch.context() as patch:
            POINTS[point].arm(patch)
            with pytest.raises(Crash):
                engine.groups[name].step(EVERYTHING)
    engine.start("shipping")  # continues as a new object, as after a kill; sales continues itself, as in a retry
    engine.finish("shipping")
    engine.finish("sales")
    assert_outcome(engine)


def assert_outcome(engine: Engine) -> None:
    shipping, sales = oracle.shipping(engine.cluster.acked), oracle.sales(engine.cluster.acked)
    assert sorted(engine.rows("gold.shipment_ready", "order_id")) == [(name,) for name in sorted(shipping.shipped)]
    assert engine.state("shipping", "silver.open_orders", "order_id") == [(name,) for name in sorted(shipping.waiting)]
    news: dict[str, list[tuple[Any, bool]]] = {}
    for product, total, is_retraction in engine.rows("gold.sales_notifications", "product", "total", "is_retraction"):
        news.setdefault(product, []).append((total, is_retraction))
    assert news == sales.notifications
    assert engine.state("sales", "silver.sales_totals", "product", "total") == sorted(sales.totals.items())


def test_source_without_news_is_not_read_again(engine: Engine) -> None:
    for event in (order("k1", 1), sale("k2", 2000), order("k3", 1)):
        engine.land(event)
        engine.finish("sales")
        engine.start("keys")
        engine.finish("keys")
    ordered = [(record.name,) for record in oracle.usable(engine.cluster.acked, ORDERS)]
    notified = [(product,) for product, rows in oracle.sales(engine.cluster.acked).notifications.items() for _ in rows]
    assert sorted(engine.rows("gold.keys", "key")) == sorted(ordered + notified)
