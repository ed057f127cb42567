"""`headrace test --cuts`: models whose rows depend on how records are cut into batches are found without a case."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.commands import testing
from headrace.commands.workspace import Workspace
from headrace.project import loader
from headrace.project.declarations.documents import parse
from headrace.testing.cut_trials.trial import PartTrial, parts
from headrace.testing.runs.sandbox import Sandbox

pytestmark = pytest.mark.spark

BASE = {
    "manifest.yml": "name: cut\nmodels: {silver: {+materialized: view}, gold: {+materialized: append}}\n",
    "conf/local.yml": "data_dir: data\n",
    "sql/bronze/shop.yml": """
landing: shop
topics:
  orders: {schema: {customer: string not null, amount: "decimal(12,2) not null"}}
  payments: {schema: {amount: "decimal(12,2) not null"}}
""",
}
HEADER = "/*\nModel {}, one row per order.\n\nmaterialized: append\n*/\n"
DEPENDENT = {
    "totals": "select data.customer as customer, count(*) as orders from stream bronze.orders group by data.customer",
    "distinct_customers": "select distinct data.customer as customer from stream bronze.orders",
    "largest": "select key, data.amount as amount from stream bronze.orders order by data.amount desc, key limit 2",
    "moves": """select key, data.amount / lag(data.amount) over (partition by key order by _arrival) as change
from stream bronze.orders""",
    "paid": """select orders.key, payments.data.amount as paid from stream bronze.orders
inner join stream bronze.payments on orders.key = payments.key""",
    "unpaid": "select key from stream bronze.orders left anti join stream bronze.payments using (key)",
}
RUNNING = """/*
Running totals of customers, one row per order.

materialized: upsert
unique_key: customer
*/
with orders as (
    select data.customer as customer, data.amount as amount, _arrival from stream bronze.orders
),
before as (
    select customer, total from silver.running
)
select
    orders.customer,
    cast(coalesce(before.total, 0) + sum(orders.amount) over (
        partition by orders.customer order by orders._arrival
    ) as decimal(20, 2)) as total,
    orders._arrival
from orders
left join before on orders.customer = before.customer
"""


def written(root: Path, models: dict[str, str]) -> Workspace:
    for name, text in {**BASE, **models}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, "utf-8")
    return Workspace(root, "local")


def dependent(*names: str) -> dict[str, str]:
    texts = {name: HEADER.format(name) + DEPENDENT[name] for name in names or DEPENDENT}
    return {f"sql/gold/shop/{name}.sql": text for name, text in texts.items()}


@pytest.mark.long
def test_models_that_depend_on_the_cut_are_found(tmp_path: Path, sandbox: Sandbox) -> None:
    workspace = written(tmp_path, {**dependent(), "sql/silver/shop/running.sql": RUNNING})
    project = loader.load(workspace.folder, "local", ignored=[testing.CUT_DEPENDENT])
    tables = [model.table for model in project.models]
    (part,) = parts(project, tables)
    trial = PartTrial(sandbox, part, seed=1, events=8)
    found = {table: [rows for _, rows in trial.rows(table)] for table in tables}
    assert not any(rows.failure for each in found.values() for rows in each)
    differing = {table for table, (base, *others) in found.items() if any(rows.differs(base) for rows in others)}
    assert differing == {f"gold.{name}" for name in DEPENDENT}


def test_difference_is_few_events_and_a_case(
    tmp_path: Path, sandbox: Sandbox, capfd: pytest.CaptureFixture[str]
) -> None:
    assert sandbox.spark
    assert testing.run_cuts(written(tmp_path, dependent("paid")), (), (), None, seed=1) == 1
    lines = capfd.readouterr().out.splitlines()
    start = lines.index(next(line for line in lines if line.startswith("as a case")))
    end = lines.index(next(line for line in lines[start + 1 :] if not line.startswith("  ")))
    case = parse("\n".join(line[2:] for line in lines[start + 1 : end]), "case.yml").value
    assert [[name for name in batch if name != "at"] for batch in case["given"]] in (
        [["orders"], ["payments"]],
        [["payments"], ["orders"]],
    )
