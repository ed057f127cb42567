"""A query that looks up an upsert of another one: each row finds what was known before its batch, whoever dies when."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from headrace.project import loader
from headrace.project.model import Project
from headrace.store.layout import Layout
from headrace.testing.cases.case import Batch
from headrace.testing.cases.landing import land
from headrace.testing.runs.disk import Crash, Fuse, Process, land_batch
from headrace.testing.runs.sandbox import Sandbox
from tests.long import long, one_of

pytestmark = pytest.mark.spark

FILES = {
    "manifest.yml": "name: known\nmodels: {+materialized: append}\n",
    "conf/local.yml": "data_dir: data\n",
    "sql/bronze/r.yml": (
        "landing: r\ntopics:\n  prices: {schema: {price: bigint}}\n  orders: {schema: {product: string, n: bigint}}\n"
    ),
    "sql/silver/r/newest.sql": """/*
Prices: one row per product.

materialized: upsert
unique_key: product
delete_when: price is null
query: prices
*/
select key as product, data.price as price, _arrival from stream bronze.prices
""",
    "sql/gold/r/priced.sql": """/*
Orders with the price that was known before their batch: one row per order.

query: orders
*/
select orders.data.n as n, newest.price as price, orders._arrival
from stream bronze.orders as orders
left join silver.newest as newest on orders.data.product = newest.product
""",
}
GIVEN: list[dict[str, Any]] = [
    {"orders": [{"key": "1", "value": {"product": "tea", "n": 1}}]},
    {"prices": [{"key": "tea", "value": {"price": 5}}, {"key": "cup", "value": {"price": 8}}]},
    {"orders": [{"key": "2", "value": {"product": "tea", "n": 2}}, {"key": "3", "value": {"product": "cup", "n": 3}}]},
    {
        "prices": [{"key": "tea", "value": {"price": 6}}, {"key": "cup", "value": {}}],
        "orders": [
            {"key": "4", "value": {"product": "tea", "n": 4}},
            {"key": "5", "value": {"product": "cup", "n": 5}},
        ],
    },
    {"orders": [{"key": "6", "value": {"product": "tea", "n": 6}}]},
]
PRICED = [(1, None), (2, 5), (3, 8), (4, 6), (5, None), (6, 6)]
"""The prices of a batch are taken in before its orders: `newest` runs first."""
POINTS = 24


class Stage:
    """The project, and the batches that are to land."""

    def __init__(self, sandbox: Sandbox, root: Path) -> None:
        for name, text in FILES.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text, "utf-8")
        self.sandbox = sandbox
        self.project: Project = loader.load(root, "local")
        self.layout: Layout = sandbox.layout(self.project)
        given = TypeAdapter(tuple[Batch, ...]).validate_python(GIVEN)
        self._batches = land(sandbox.judge, self.project, given).batches

    def landing(self) -> Iterator[int]:
        for number, batch in enumerate(self._batches):
            land_batch(self.sandbox, self.layout, batch)
            yield number

    def process(self, fuse: Fuse | None = None) -> Process:
        return Process(self.sandbox, self.project, self.layout, fuse)

    def rows(self) -> Sequence[tuple[int, int | None]]:
        table = self.sandbox.spark.read.format("delta").load(str(self.layout.table("gold.priced")))
        return [(row.n, row.price) for row in table.orderBy("n").collect()]


@pytest.fixture
def stage(sandbox: Sandbox, tmp_path: Path) -> Stage:
    return Stage(sandbox, tmp_path)


@pytest.mark.parametrize("starts_anew", [long(False), True])
def test_rows_find_what_was_known(stage: Stage, starts_anew: bool) -> None:
    process = stage.process()
    process.create_tables()
    for _ in stage.landing():
        process.advance()
        if starts_anew:
            process.stop()
            process = stage.process()
    process.stop()
    assert stage.rows() == PRICED


@pytest.mark.parametrize("point", one_of(16, range(POINTS)))
def test_run_that_dies_finds_the_same(stage: Stage, point: int) -> None:
    process = stage.process(Fuse(point))
    process.create_tables()
    for _ in stage.landing():
        try:
            process.advance()
        except Crash:
            process.stop()
            process = stage.process()
            process.advance()
    process.stop()
    assert stage.rows() == PRICED
