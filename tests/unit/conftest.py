"""A small project with stored tables, written without Spark."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from deltalake import CommitProperties, QueryBuilder, write_deltalake

from headrace import secrets, usercache
from headrace.errors import InvalidProject, Place
from headrace.project.declarations.targets.references import (
    BOOTSTRAP_VARIABLE,
    DATA_DIR_VARIABLE,
    SMALL_BATCHES_VARIABLE,
)
from headrace.project.loader import load
from headrace.project.model import Kind, Landing, Layer, Model, Project, Target, Topic
from headrace.store.layout import Layout
from headrace.store.paths import ObjectPath, StorePath

hypothesis.settings.register_profile("no deadline on a busy machine", deadline=None)
hypothesis.settings.load_profile("no deadline on a busy machine")

HERE = Place("sql/bronze/shipping.yml")
LANDED = """
select {batch} as landing_batch, '{topic}' as topic, 0 as partition, {offset} as offset,
    {key} as key, {value} as value,
    make_array(named_struct('key', 'h', 'value', arrow_cast('abc', 'Binary'))) as headers,
    {time} as timestamp, {time} as event_time, {time} as landed_at, {reason} as reject_reason,
    arrow_cast(null, 'Binary') as _key_bytes, arrow_cast(null, 'Binary') as _value_bytes
"""


@pytest.fixture(autouse=True)
def verdicts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where Spark's verdicts are cached: none from other tests or commands is known."""
    monkeypatch.setattr(usercache, "user_cache_path", lambda name: tmp_path / name)
    return tmp_path / "headrace" / "verdicts"


@pytest.fixture(autouse=True)
def _no_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    """The secrets of other tests may be words of this one."""
    monkeypatch.setattr(secrets, "_memory", secrets._Memory())


@dataclass(frozen=True)
class Store:
    """Writes the tables of a project as the runner would, each row as a DataFusion SELECT."""

    project: Project
    layout: Layout

    def land(self, landing: str, batch: int, *records: tuple[str, int, str, str | None]) -> None:
        """One landing batch of (topic, offset, key, reject reason); the value is the key as a JSON string."""
        rows = (
            LANDED.format(
                batch=batch,
                topic=topic,
                offset=offset,
                key=_literal(key),
                value=_literal(json.dumps(key)),
                time="arrow_cast('2026-01-01T10:00:00Z', 'Timestamp(Microsecond, Some(\"UTC\"))')",
                reason="cast(null as varchar)" if reason is None else f"'{reason}'",
            )
            for topic, offset, key, reason in records
        )
        self._append(self.layout.landing(landing), " union all ".join(rows), partition_by=["topic"])

    def append(self, table: str, *rows: str) -> None:
        """One commit of rows to an append table."""
        self._append(self.layout.table(table), " union all ".join(f"select {row}" for row in rows))

    def late(self, table: str, *rows: str) -> None:
        """One commit of rows that came too late for a model."""
        self._append(self.layout.late(table), " union all ".join(f"select {row}" for row in rows))

    def fail(self, query: str, row: str) -> None:
        """One commit of a row that failed a data test of a query."""
        self._append(self.layout.failed(query), f"select {row}")

    def change(self, batch: int, *changes: tuple[str, int, int, bool], table: str = "silver.open_orders") -> None:
        """One commit of (order id, offset, made, deleted) to the change log of a table."""
        self._append(self.layout.changes(table), _open_orders(batch, changes))

    def fold(self, batch: int, *rows: tuple[str, int, int, bool], marked: bool = True) -> None:
        """Replace the current table of silver.open_orders, folded up to a batch."""
        marker = {"userMetadata": json.dumps({"headrace": {"query": "shipping", "batch": batch}})} if marked else {}
        path = self.layout.table("silver.open_orders")
        without = QueryBuilder().execute(f"select * except (_deleted) from ({_open_orders(batch, rows)})")
        properties = CommitProperties(custom_metadata=marker)
        write_rows(path, without, mode="overwrite", commit_properties=properties)

    def _append(self, path: StorePath, sql: str, **options: Any) -> None:
        write_rows(path, QueryBuilder().execute(sql), mode="append", **options)


def write_rows(path: StorePath, rows: Any, **options: Any) -> None:
    """Write rows to a Delta table, wherever it is."""
    reached = dict(path.bucket.options) if isinstance(path, ObjectPath) else None
    write_deltalake(str(path), rows, storage_options=reached, **options)


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _open_orders(batch: int, rows: tuple[tuple[str, int, int, bool], ...]) -> str:
    return " union all ".join(
        f"select '{order_id}' as order_id, {made} as made, "
        f"named_struct('landing_batch', {batch}, 'topic', 'orders', 'partition', 0, 'offset', {offset}) as _arrival, "
        f"{str(deleted).lower()} as _deleted, {batch} as _batch"
        for order_id, offset, made, deleted in rows
    )


def _model(layer: Layer, name: str, materialized: Kind, **options: Any) -> Model:
    return Model(layer, name, "shipping", f"sql/{name}.sql", "", "", materialized, "micro_batch", None, (), **options)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """A project with nothing stored yet."""
    return store_at(Layout(tmp_path))


def store_at(layout: Layout) -> Store:
    """A project of two landings and a model of each kind, whose tables are there."""
    landings = (
        Landing("shipping", (Topic("orders", "orders", HERE), Topic("manufactured", "manufactured", HERE)), HERE),
        Landing("sales", (Topic("sales", "sales-events-v1", HERE),), HERE),
    )
    models = (
        _model("silver", "orders", "view"),
        _model("silver", "open_orders", "upsert", unique_key=("order_id",)),
        _model("silver", "versions", "upsert", unique_key=("order_id", "_arrival")),
        _model("gold", "shipment_ready", "append", once_per=("order_id",)),
        _model("gold", "order_checks", "append", once_per=("order_id", "check_type")),
        _model("gold", "unkeyed", "append"),
    )
    target = Target("local", layout.data_dir, store=layout.store)
    return Store(Project(layout.data_dir, "demo", target, {}, landings, models, (), ()), layout)


SMALL_PROJECT = {
    "manifest.yml": """
name: small
models:
  silver: {+materialized: view}
  gold: {+materialized: append}
  shipping: {+query: shipping}
vars: {limit: 2}
""",
    "conf/local.yml": "data_dir: data\n",
    "sql/bronze/shipping.yml": """
landing: shipping
topics:
  orders:
    schema: {id: string not null, orderDate: timestamp, items: 'array<struct<id: bigint, name: string>> not null'}
    event_time: orderDate
    reject: {key_mismatch: id <> key}
  manufactured:
    schema: {orderId: string not null, productId: bigint not null}
""",
    "sql/silver/shipping/orders.sql": """/*
Orders as they came, one row per event.
*/
select data.id as order_id, size(data.items) as item_count, _arrival
from stream bronze.orders
""",
    "sql/silver/shipping/open_orders.sql": """/*
What is open, one row per order.

materialized: upsert
unique_key: order_id
*/
with orders as (
    select order_id, item_count, _arrival from stream silver.orders
),
counted as (
    select
        orders.order_id,
        sum(orders.item_count) over (partition by orders.order_id order by orders._arrival)
        + coalesce(open_orders.item_count, 0) as item_count,
        orders._arrival
    from orders
    left join silver.open_orders on orders.order_id = open_orders.order_id
)
select * from counted
""",
    "sql/gold/shipping/shipment_ready.sql": """/*
What can be shipped, one row per order.

once_per: order_id
publish: {topic: shipping, key: order_id, value: {orderId: order_id}}
*/
select order_id, _arrival
from stream silver.open_orders
where item_count > :limit
""",
}


@dataclass(frozen=True)
class ProjectFiles:
    """A small valid project on disk, to be broken file by file."""

    root: Path

    def write(self, path: str, text: str) -> None:
        """Write one file."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def edit(self, path: str, old: str, new: str) -> None:
        """Replace a part of one file that must be in it."""
        text = (self.root / path).read_text(encoding="utf-8")
        assert old in text
        self.write(path, text.replace(old, new))

    def load(self) -> Project:
        """Load the project for its only target."""
        return load(self.root, "local")

    def findings(self) -> list[str]:
        """Return what is wrong, each as `path:line:column code`."""
        try:
            self.load()
        except InvalidProject as error:
            return [f"{finding.place} {finding.code}" for finding in error.findings]
        return []


@pytest.fixture
def project_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ProjectFiles:
    """A small valid project: a landing of two topics, a view, an upsert and a published append."""
    for variable in (BOOTSTRAP_VARIABLE, DATA_DIR_VARIABLE, SMALL_BATCHES_VARIABLE):
        monkeypatch.delenv(variable, raising=False)
    files = ProjectFiles(tmp_path)
    for path, text in SMALL_PROJECT.items():
        files.write(path, text)
    return files
