"""Micro-batch models whose rows depend on how events were cut into batches, and those whose rows do not."""

from __future__ import annotations

from pathlib import Path

import pytest
from ruamel.yaml import YAML

FILES = {
    "manifest.yml": "name: shop\nmodels: {silver: {+materialized: view}, gold: {+materialized: append}}\n",
    "conf/local.yml": "data_dir: data\n",
    "sql/bronze/shop.yml": """
landing: shop
topics:
  prices: {schema: {price: bigint}}
  orders: {schema: {customer: string, amount: bigint}}
  payments: {schema: {amount: bigint}}
  customers: {schema: {name: string}}
""",
    "sql/silver/shop/orders.sql": """/*
Orders, one row per order.
*/
select key as id, data.customer as customer, data.amount as amount, landed_at, _arrival from stream bronze.orders
""",
    "sql/silver/shop/payments.sql": """/*
Payments, one row per payment.
*/
select key as id, data.amount as paid, landed_at, _arrival from stream bronze.payments
""",
    "sql/silver/shop/names.sql": """/*
Customers as they are, one row per customer.

materialized: upsert
query: shop
unique_key: customer
*/
select key as customer, data.name, _arrival from stream bronze.customers
""",
    "sql/silver/shop/open_orders.sql": """/*
Orders that are not paid, one row per order.

materialized: upsert
query: shop
unique_key: id
delete_when: amount = 0
*/
select key as id, data.amount, _arrival from stream bronze.orders
""",
    "sql/silver/shop/known_names.sql": """/*
Names of customers, those of this batch too, one row per change.
*/
select customer, name, _arrival from stream silver.names
union all
select customer, name, _arrival from silver.names
""",
}
NEW = "sql/gold/shop/new.sql"
SHAPES = YAML(typ="safe").load(Path(__file__).with_name("cut_shapes.yml"))
COUNTED = "/*\nOne row per customer.\n*/\nselect customer, count(*) as n from stream silver.orders group by customer"


@pytest.fixture
def found(project_files):
    for path in ("sql/bronze/shipping.yml", "sql/silver/shipping/orders.sql", "sql/silver/shipping/open_orders.sql"):
        (project_files.root / path).unlink()
    (project_files.root / "sql/gold/shipping/shipment_ready.sql").unlink()
    for path, text in FILES.items():
        project_files.write(path, text)

    def codes(query: str, keys: str = "") -> list[str]:
        if "silver.counted" in query:
            project_files.write("sql/silver/shop/counted.sql", COUNTED)
        kind = "" if "materialized" in keys else "materialized: append\n"
        project_files.write(NEW, f"/*\nOne row.\n\n{kind}{keys}\n*/\n{query}")
        return [finding.split(" ")[1] for finding in project_files.findings()]

    return codes


@pytest.mark.parametrize("shape", SHAPES["dependent"].values(), ids=SHAPES["dependent"])
def test_rows_that_depend_on_the_cut_are_found(found, shape):
    assert set(found(**shape)) == {"cut-dependent"}


@pytest.mark.parametrize("shape", SHAPES["independent"].values(), ids=SHAPES["independent"])
def test_rows_that_do_not_depend_on_it_pass(found, shape):
    assert found(**shape) == []
