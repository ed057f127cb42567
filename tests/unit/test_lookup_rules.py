"""Lookups of a table that the same query writes: which of them depend on how events were batched."""

from __future__ import annotations

import pytest

NEW = "sql/gold/shipping/new.sql"
MADE = """/*
What was made last of an order: one row per order.

materialized: upsert
unique_key: order_id
*/
select key as order_id, data.productId as product_id, _arrival from stream bronze.manufactured
"""
ORDERS = "select key as order_id, _arrival from stream bronze.orders"
MADE_ROWS = "select order_id, product_id, _arrival from silver.made"
CHANGES = "select order_id, product_id, _arrival from stream silver.made"
CODE = "cut-dependent"


def codes(project_files, query: str, keys: str = "") -> list[str]:
    project_files.write("sql/silver/shipping/made.sql", MADE)
    project_files.write(NEW, f"/*\nOne row.\n\n{keys}\n*/\n{query}\n")
    return [finding.split()[1] for finding in project_files.findings()]


@pytest.mark.parametrize(
    "query",
    [
        f"with o as ({ORDERS}) select o.*, m.product_id from o left join silver.made as m on o.order_id = m.order_id",
        f"with o as ({ORDERS}) select * from o where order_id in (select order_id from silver.made)",
        f"with o as ({ORDERS}), m as ({MADE_ROWS}) select o.* from o left anti join m on o.order_id = m.order_id",
        # the changes alone, beside the state: a second change of the batch is compared with what was before the batch
        f"with c as ({CHANGES}), m as ({MADE_ROWS}) "
        "select c.order_id, c.product_id - m.product_id as moved, c._arrival from c join m on c.order_id = m.order_id",
        # in order of arrival, but of other rows
        f"with o as ({ORDERS} qualify row_number() over (partition by key order by _arrival) = 1), m as ({MADE_ROWS}) "
        "select o.order_id, m.product_id, o._arrival from o left join m on o.order_id = m.order_id",
    ],
)
def test_lookup_before_the_batch_is_found(project_files, query):
    assert {*codes(project_files, query)} == {CODE}


@pytest.mark.parametrize(
    "query",
    [
        f"with m as ({CHANGES} union all {MADE_ROWS}), o as ({ORDERS}) "
        "select o.order_id, max_by(m.product_id, m._arrival) as product_id, o._arrival from o left join m "
        "on o.order_id = m.order_id and m._arrival < o._arrival group by o.order_id, o._arrival",
        f"with m as ({MADE_ROWS}), c as ({CHANGES}), s as (select order_id, _arrival, "
        "sum(product_id) over (partition by order_id order by _arrival) as total from c) "
        "select s.order_id, s.total + m.product_id as total, s._arrival from s left join m on s.order_id = m.order_id",
        # what the table is computed from, instead of its changes
        f"with m as (select key as order_id, data.productId as product_id, _arrival from stream bronze.manufactured "
        f"union all {MADE_ROWS}), o as ({ORDERS}) select o.order_id, min_by(m.product_id, m._arrival) as product_id, "
        "o._arrival from o left join m on o.order_id = m.order_id and m._arrival < o._arrival "
        "group by o.order_id, o._arrival",
    ],
)
def test_state_with_its_changes_is_right(project_files, query):
    assert codes(project_files, query) == []


def test_lookup_in_a_view_is_reported_once(project_files):
    view = "sql/silver/shipping/made_orders.sql"
    project_files.write("sql/silver/shipping/made.sql", MADE)
    text = f"/*\nOne row.\n*/\nwith o as ({ORDERS}) select o.* from o left semi join silver.made using (order_id)"
    project_files.write(view, text)
    for name in ("new", "newer"):
        path = f"sql/gold/shipping/{name}.sql"
        project_files.write(path, "/*\nOne row.\n*/\nselect order_id, _arrival from stream silver.made_orders")
    assert project_files.findings() == [f"{view}:4:{text.splitlines()[3].index('silver.made') + 1} {CODE}"]


def test_table_made_of_the_models_rows_is_state(project_files):
    project_files.write(
        "sql/silver/shipping/seen.sql",
        "/*\nOne row per order.\n\nmaterialized: upsert\nunique_key: order_id\n*/\n"
        "select order_id, _arrival from stream gold.new",
    )
    query = f"with o as ({ORDERS}) select o.* from o left anti join silver.seen on o.order_id = seen.order_id"
    assert codes(project_files, query, "once_per: order_id") == []


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ("allow: {cut-dependent: names are all there before}", []),
        ("query: own", []),
        ("query: own\nallow: {cut-dependent: names are all there before}", ["needless-allow"]),
    ],
)
def test_allowed_or_of_another_query(project_files, keys, expected):
    query = f"with o as ({ORDERS}) select o.* from o left semi join silver.made on o.order_id = made.order_id"
    assert codes(project_files, query, keys) == expected
