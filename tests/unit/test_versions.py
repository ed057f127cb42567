"""`<upsert>_versions` in a project: who has them, what they offer, and who is computed first."""

from __future__ import annotations

import pytest

from headrace.catalogue import origins

NEW = "sql/gold/shipping/a_new.sql"
NOW = "(v._valid_to is null or o._arrival <= v._valid_to)"
EARLIER = "o._arrival > v._valid_from"
TURNED = "(o._arrival <= v._valid_to or v._valid_to is null)"


def written(project_files, query: str, keys: str = "query: shipping") -> None:
    project_files.write(NEW, f"/*\nOne row.\n\nmaterialized: append\n{keys}\n*/\n{query}\n")


def as_of(condition: str, kind: str = "left join", what: str = "silver.open_orders_versions as v") -> str:
    return (
        "with o as (select key as order_id, _arrival from stream bronze.orders) select o.order_id, v.item_count, "
        f"o._arrival from o {kind} {what} on o.order_id = v.order_id and {condition}"
    )


def test_reader_is_computed_after_the_upsert(project_files):
    written(project_files, as_of(f"o._arrival > v._valid_from and {NOW}"))
    (query,) = project_files.load().queries
    assert [model.name for model in query.models].index("open_orders") < [m.name for m in query.models].index("a_new")


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (
            as_of(EARLIER).replace("v.item_count", "v.items"),
            "unknown-column",
        ),
        (
            as_of(EARLIER).replace("v.item_count", "v._deleted"),
            "unknown-column",
        ),
        ("select order_id, _arrival from stream silver.open_orders_versions", "not-allowed"),
        ("select v.order_id from stream bronze.orders join silver.orders_versions as v using (key)", "unknown-table"),
        (
            "select v.order_id from stream bronze.orders join silver.opn_orders_versions as v using (key)",
            "unknown-table",
        ),
    ],
)
def test_versions_are_known_to_check(project_files, query, expected):
    written(project_files, query)
    assert [finding.split()[1] for finding in project_files.findings()] == [expected]


def test_upsert_that_reads_its_own_versions_waits_for_itself(project_files):
    path = "sql/silver/shipping/open_orders.sql"
    project_files.edit(path, "join silver.open_orders on", "join silver.open_orders_versions as open_orders on")
    assert [finding.split()[1] for finding in project_files.findings()] == ["cycle"]


def test_model_of_that_name_is_a_finding(project_files):
    text = "/*\nOne row.\n*/\nselect order_id from stream silver.orders"
    project_files.write("sql/silver/shipping/open_orders_versions.sql", text)
    assert project_files.findings() == ["sql/silver/shipping/open_orders_versions.sql:1:1 duplicate-model"]


def test_model_beside_a_view_may_have_that_name(project_files):
    text = "/*\nOne row.\n*/\nselect order_id from stream silver.orders"
    project_files.write("sql/silver/shipping/orders_versions.sql", text)
    assert project_files.findings() == []


def test_column_of_versions_is_that_of_the_upsert(project_files):
    written(project_files, as_of(f"o._arrival > v._valid_from and {NOW}"))
    found = origins.read(project_files.load())
    assert found.columns["gold.a_new.item_count"].parents == ("silver.open_orders.item_count",)


CTE = f"""with o as (select key as order_id, _arrival from stream bronze.orders),
v as (select order_id, item_count, _valid_from, _valid_to from silver.open_orders_versions)
select o.order_id, v.item_count, o._arrival
from o left join v on o.order_id = v.order_id and o._arrival > v._valid_from and {NOW}"""
STATE = (
    "with o as (select order_id, _arrival from stream silver.open_orders"
    " union all select order_id, _arrival from silver.open_orders)"
)


@pytest.mark.parametrize(
    ("query", "keys", "expected"),
    [
        (as_of(f"{EARLIER} and {NOW}"), "query: shipping", False),
        (CTE, "query: shipping", False),
        (as_of(f"{EARLIER} and {TURNED}", "inner join"), "query: shipping", False),
        (as_of("o._arrival > v._valid_from"), "query: shipping", True),
        (as_of(f"{EARLIER} and {NOW}", "right join"), "query: shipping", True),
        (as_of(f"o._arrival > v._valid_from or {NOW}"), "query: shipping", True),
        (CTE.replace("v as (select", "v as (select distinct"), "query: shipping", True),
        (as_of(NOW), "query: own", True),
        # the arrivals of rows that were kept may lie long back
        (
            STATE
            + " select o.order_id, v.item_count, o._arrival from o"
            + f" join silver.open_orders_versions as v on {EARLIER} and {NOW}",
            "query: shipping",
            True,
        ),
    ],
)
def test_past_is_read_unless_joined_as_of_the_batch(project_files, query, keys, expected):
    written(project_files, query, keys)
    assert [ref.past for ref in project_files.load().model("gold.a_new").inputs if ref.versions] == [expected]


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (f"o._arrival > v._valid_from and {NOW}", []),  # the row that holds when an order lands
        ("o._arrival > v._valid_from", ["keep-needs-rows"]),
    ],
)
def test_old_versions_of_which_somebody_asks_do_not_leave(project_files, condition, expected):
    path, upsert = "sql/silver/shipping/open_orders.sql", "materialized: upsert"
    project_files.edit(path, upsert, f"{upsert}\nkeep: 30 days")
    written(project_files, as_of(condition))
    assert [finding.split()[1] for finding in project_files.findings()] == expected
