"""Where columns come from, across CTEs, views and models, down to the fields of Kafka records."""

from __future__ import annotations

import json

import pytest

from headrace.catalogue import lineage, origins
from headrace.errors import UsageError
from tests.unit.test_cli import ended

READY = "sql/gold/shipping/shipment_ready.sql"
OPEN = "sql/silver/shipping/open_orders.sql"
ORDERS = "sql/silver/shipping/orders.sql"


@pytest.fixture
def found(project_files) -> origins.Origins:
    return origins.read(project_files.load())


def parents(project_files, query: str, column: str) -> set[str]:
    project_files.write("sql/gold/shipping/new.sql", f"/*\nOne row.\n\nmaterialized: append\n*/\n{query}")
    return {*origins.read(project_files.load()).columns[f"gold.new.{column}"].parents}


def test_column_is_followed_to_its_kafka_field(found):
    tree = [*lineage.tree(found, found.columns["silver.open_orders.item_count"], found.parents())]
    assert [line.strip(" │├└─").split("  ")[0] for line in tree if "(its rows" not in line] == [
        "silver.open_orders.item_count",
        "silver.orders.item_count",
        "bronze.orders.data.items",
        "kafka:orders.value.items",
    ]


def test_own_state_is_marked_as_such(found):
    tree = [*lineage.tree(found, found.columns["silver.open_orders.item_count"], found.parents())]
    assert sum("silver.open_orders.item_count" in line and "(its rows before the batch)" in line for line in tree) == 1


def test_column_knows_its_line_and_expression(found):
    column = found.columns["silver.orders.item_count"]
    assert (str(column.place), column.made) == (f"{ORDERS}:4:29", "SIZE(data.items)")


def test_field_is_followed_down_to_gold(found):
    reached = lineage.reachable(found.named("kafka:orders.value.id"), found.children())
    assert reached[-1] == "gold.shipment_ready.order_id"


@pytest.mark.parametrize(
    ("query", "column", "expected"),
    [
        ("select key as k from stream bronze.orders", "k", {"bronze.orders.key"}),
        ("select data.id as k from stream bronze.orders", "k", {"bronze.orders.data.id"}),
        ("select o.data.id as k from stream bronze.orders as o", "k", {"bronze.orders.data.id"}),
        ("with o as (select data from stream bronze.orders) select data.id k from o", "k", {"bronze.orders.data.id"}),
        ("with o as (select data as d, key from stream bronze.orders) select * from o", "d", {"bronze.orders.data"}),
        ("with o(a) as (select key from stream bronze.orders) select a from o", "a", {"bronze.orders.key"}),
        ("select a as b from (select key as a from stream bronze.orders)", "b", {"bronze.orders.key"}),
        (
            "select key from stream bronze.orders union all select data.orderId from stream bronze.manufactured",
            "key",
            {"bronze.orders.key", "bronze.manufactured.data.orderId"},
        ),
        (
            "select max(value) over (partition by key, _arrival order by _arrival) as m from stream bronze.orders",
            "m",
            {"bronze.orders.value"},
        ),
        ("select key as a, upper(a) as b from stream bronze.orders", "b", {"bronze.orders.key"}),
        ("select transform(data.items, x -> x.id) as i from stream bronze.orders", "i", {"bronze.orders.data.items"}),
        ("select 1 as one from stream bronze.orders", "one", set()),
        (
            "select orders.order_id, open_orders.item_count + 0 * count(*) over (partition by orders.order_id"
            " order by orders._arrival) as n from stream silver.orders"
            " left join silver.open_orders on orders.order_id = open_orders.order_id",
            "n",
            {"silver.open_orders.item_count"},
        ),
        (
            "select silver.orders.item_count as n from stream silver.orders",
            "n",
            {"silver.orders.item_count"},
        ),
        (
            "with o as (select window(timestamp, '1 day') as w from stream bronze.orders) select w.start as s from o",
            "s",
            {"bronze.orders.timestamp"},
        ),
    ],
)  # fmt: skip
def test_parents_of_a_column(project_files, query, column, expected):
    assert parents(project_files, query, column) == expected


def test_unknown_column_suggests_the_nearest(found):
    with pytest.raises(UsageError, match=r"Did you mean gold\.shipment_ready\.order_id\?"):
        found.named("gold.shipment_ready.order_ids")


def test_mermaid_draws_every_step(found):
    text = "\n".join(lineage.mermaid(found.named("silver.orders.order_id"), found.parents(), False))
    assert text == (
        'flowchart LR\n    c0["silver.orders.order_id"]\n    c1["bronze.orders.data.id"]\n'
        '    c2["kafka:orders.value.id"]\n    c1 --> c0\n    c2 --> c1'
    )


def test_command_writes_one_object_per_column(project_files, capsys):
    assert ended("-C", str(project_files.root), "lineage", "silver.orders.order_id", "--json") == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(row["column"], row["path"]) for row in rows] == [
        ("silver.orders.order_id", ORDERS),
        ("bronze.orders.data.id", "sql/bronze/shipping.yml"),
        ("kafka:orders.value.id", "sql/bronze/shipping.yml"),
    ]


def test_wrong_format_is_misuse(project_files):
    assert ended("-C", str(project_files.root), "lineage", "silver.orders", "--format", "png") == 2
