"""`<upsert>_versions`: a lookup as of arrival gives the same row in every cut, the one that a plain fold gives."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest

from headrace.project import loader
from headrace.project.model import Project
from headrace.testing.runs.sandbox import Sandbox
from headrace.testing.runs.trial import Models
from tests.long import one_of

pytestmark = pytest.mark.spark

AS_OF = """    and orders._arrival > versions._valid_from
    and (versions._valid_to is null or orders._arrival <= versions._valid_to)"""
FILES = {
    "manifest.yml": "name: versions\nmodels: {+materialized: append}\n",
    "conf/local.yml": "data_dir: data\n",
    "sql/bronze/shop.yml": """
landing: shop
topics:
  customers: {schema: {name: string}, null_value: allow}
  orders: {schema: {customer: string}}
""",
    "sql/silver/shop/customers.sql": """/*
Customers, one row per customer.

materialized: upsert
unique_key: customer
delete_when: is_gone
query: shop
*/
select key as customer, data.name as name, value is null as is_gone, _arrival
from stream bronze.customers
""",
    "sql/gold/shop/named.sql": f"""/*
Orders with the name that their customer had, one row per order.

query: shop
*/
with orders as (
    select key as id, data.customer as customer, _arrival from stream bronze.orders
),
versions as (
    select customer, name, _valid_from, _valid_to from silver.customers_versions
)
select orders.id, versions.name, orders._arrival
from orders
left join versions
    on orders.customer = versions.customer
{AS_OF}
""",
    "sql/gold/shop/known.sql": """/*
Orders with all names that their customer had until then, one row per order.

query: shop
*/
with orders as (
    select key as id, data.customer as customer, _arrival from stream bronze.orders
),
versions as (
    select customer, name, _valid_from from silver.customers_versions
)
select
    orders.id,
    concat_ws(' ', transform(
        sort_array(collect_list(struct(versions._valid_from, versions.name))),
        each -> each.name
    )) as names,
    orders._arrival
from orders
inner join versions
    on orders.customer = versions.customer
    and orders._arrival > versions._valid_from
group by orders.id, orders._arrival
""",
    "sql/gold/shop/elsewhere.sql": f"""/*
Orders with the name that their customer had, in another query, one row per order.

query: elsewhere
*/
with orders as (
    select key as id, data.customer as customer, _arrival from stream bronze.orders
)
select orders.id, versions.name, orders._arrival
from orders
left join silver.customers_versions as versions
    on orders.customer = versions.customer
{AS_OF}
""",
}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    root = tmp_path_factory.mktemp("versions")
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, "utf-8")
    return loader.load(Path(root), "local")


def events(seed: int, batches: int = 6) -> list[dict[str, Any]]:
    """Changes of few customers, deletions too, and orders of them; in a landing batch, customers come first."""
    random, found = Random(seed), list[dict[str, Any]]()
    for number in range(batches):
        names = [(random.choice("abc"), random.choice(["Ada", "Bea", "Cy", None])) for _ in range(random.randrange(4))]
        orders = [(f"o{number}{each}", random.choice("abc")) for each in range(random.randrange(1, 4))]
        found.append(
            {
                "customers": [{"key": key, "value": name and {"name": name}} for key, name in names],
                "orders": [{"key": key, "value": {"customer": customer}} for key, customer in orders],
            }
        )
    return found


def names_had(given: list[dict[str, Any]]) -> dict[str, tuple[str | None, list[str]]]:
    """For each order the name that its customer has, and all names until then."""
    current, known, found = dict[str, str | None](), dict[str, list[str]](), dict[str, tuple[str | None, list[str]]]()
    for batch in given:
        for change in batch["customers"]:
            current[change["key"]] = change["value"] and change["value"]["name"]
            known.setdefault(change["key"], []).extend([change["value"]["name"]] if change["value"] else [])
        for order in batch["orders"]:
            customer = order["value"]["customer"]
            found[order["key"]] = current.get(customer), [*known.get(customer, [])]
    return found


@pytest.mark.parametrize("seed", one_of(2, [1, 2]))
@pytest.mark.parametrize("cut", one_of(4, ["all-at-once", "one-by-one", "restarts", "shuffled"]))
def test_lookup_as_of_arrival_is_the_same_in_every_cut(sandbox: Sandbox, project: Project, cut: Any, seed: int) -> None:
    given = events(seed)
    rows = Models(sandbox, project).tables(["gold.named", "gold.known", "gold.elsewhere"], given, cut)
    wanted = names_had(given)
    assert {row.id: row.name for row in rows["gold.named"].collect()} == {
        order: name for order, (name, _) in wanted.items()
    }
    assert {row.id: row.names.split() for row in rows["gold.known"].collect()} == {
        order: names for order, (_, names) in wanted.items() if names
    }
    assert {row.id: row.name for row in rows["gold.elsewhere"].collect()} == {
        order: name for order, (name, _) in wanted.items()
    }


def test_current_versions_are_enough_as_of_the_batch(project: Project) -> None:
    past = {model.name: [ref.past for ref in model.inputs if ref.versions] for model in project.models}
    assert (past["named"], past["known"]) == ([False], [True])
