"""A join without a condition is refused, unless one side is a single row or the header allows it."""

from __future__ import annotations

import pytest

NEW = "sql/gold/shipping/new.sql"
A, B = "stream bronze.orders as a", "bronze.manufactured as b"
CROSS = [
    f"select a.key from {A} left join silver.open_orders as o on o.item_count = 3",
    f"select a.key from {A} cross join {B}",
    f"select a.key from {A}, {B}",
    f"select a.key from {A} join {B} on true",
    f"select a.key from {A} join {B} on a.key = 'x' and b.key = 'y'",
    f"select a.key from {A}, {B} where a.key = a.offset",
    f"select a.key from {A} left join {B} on a.key = 'x'",
    f"with c as (select key from bronze.manufactured) select a.key from {A} cross join c",
    f"with c as (select key, count(*) as n from bronze.manufactured group by key) select a.key from {A} cross join c",
    f"with c as (select count(*) over () as n from bronze.manufactured) select a.key from {A} cross join c",
    f"select a.key from {A} join {B} on a.key = b.key cross join bronze.orders as c",
]
JOINED = [
    f"select a.key from {A} left join silver.open_orders as o on o.order_id = 'x'",
    f"select a.key from {A} join silver.open_orders as o on true where 'x' = o.order_id",
    f"select a.key from {A} join {B} on a.key = b.key",
    f"select a.key from {A} join {B} using (key)",
    f"select a.key from {A} join {B} on a.offset between b.offset and b.offset + 5",
    f"select a.key from {A}, {B} where a.key = b.key",
    f"with c as (select max(offset) as n from bronze.manufactured) select a.key, c.n from {A} cross join c",
    f"select a.key from {A} cross join (select 1 as one) as c",
    f"with c as (select key from bronze.manufactured order by offset limit 1) select a.key from {A} cross join c",
    f"select a.key, i.id from {A}, lateral explode(a.data.items) as i(id)",
    f"select a.key, v.n from {A} cross join (values (1), (2)) as v(n)",
]


def codes(project_files, query: str, keys: str = "materialized: append") -> list[str]:
    project_files.write(NEW, f"/*\nOne row.\n\n{keys}\n*/\n{query}\n")
    return [finding.split(" ")[1] for finding in project_files.findings()]


@pytest.mark.parametrize("query", CROSS)
def test_join_without_a_condition_is_refused(project_files, query):
    assert "cross-join" in codes(project_files, query)


@pytest.mark.parametrize("query", JOINED)
def test_condition_or_a_single_row_is_enough(project_files, query):
    assert "cross-join" not in codes(project_files, query)


def test_header_may_allow_it(project_files):
    allowed = "allow: {cross-join: there are three rates}"
    assert codes(project_files, CROSS[1], allowed) == codes(project_files, JOINED[2])
